package main

// Callbacks: nothing is acknowledged that may be lost yet, and what has failed is free
// to come again, and is noted.
func acknowledging() []fault {
	return []fault{
		{
			name:    "callback: what has failed is acknowledged",
			edits:   []edit{{"callback/attempt.go", "return answer, http.StatusInternalServerError, err", "return h.p.acknowledge(e), 0, nil"}},
			foundBy: []probe{hears("TestAFailureIsSentAgain", "alipay"), hears("TestAFailureIsSentAgain", "own")},
		},
		{
			name:    "callback: what is under way is acknowledged",
			edits:   []edit{{"callback/attempt.go", "case failed == nil && errors.Is(err, nebis.ErrNotKept):", "case errors.Is(err, nebis.ErrNotKept), errors.Is(err, nebis.ErrInProgress):"}},
			foundBy: []probe{hears("TestADeliveryUnderWayIsNotAcknowledged", "wechatpay")},
		},
		{
			name:    "callback: a key is kept after a failure",
			edits:   []edit{{"callback/attempt.go", "return Answer{}, failed", "return h.p.refuse(http.StatusInternalServerError), nil"}},
			foundBy: []probe{hears("TestAFailureIsSentAgain", "epay")},
		},
		{
			name: "callback: a failure is noted in the transaction that is rolled back",
			edits: []edit{
				{"callback/attempt.go", "if failed = h.run(ctx, tx, e); failed != nil {", "if failed = h.run(ctx, tx, e); failed != nil {\n\t\t\t_ = noteIn(ctx, tx, h.store, e, failed)"},
				{"callback/attempt.go", "\t\tcase err != nil && failed != nil:\n\t\t\th.note(e, failed)\n", ""},
				{"callback/failures.go", "func identity(e Event) string {", `func noteIn(ctx context.Context, tx *sql.Tx, s *nebis.Store, e Event, failed error) error {
	f := failuresOf(s)
	_, err := tx.ExecContext(ctx, f.bind("INSERT INTO "+f.table+" (id, provider, account, delivery, order_number, attempts, error, first_at, last_at) VALUES (?, ?, ?, ?, ?, 1, ?, 0, 0)"),
		identity(e), e.Provider, e.Account, e.Delivery, e.Order, failed.Error())
	return err
}

func identity(e Event) string {`},
			},
			foundBy: []probe{hears("TestAFailureIsSentAgain", "stripe")},
		},
		{
			name:    "callback: a failure that was made good stays open",
			edits:   []edit{{"callback/attempt.go", "case err == nil && !replayed:", "case err == nil && replayed:"}},
			foundBy: []probe{hears("TestAFailureIsSentAgain", "webhooks")},
		},
	}
}

// Callbacks: what runs again by itself, how long it runs, and what is said in the end.
func rerunning() []fault {
	return []fault{
		{
			name:    "callback: the loser of a deadlock does not run again",
			edits:   []edit{{"callback/attempt.go", "const maxRuns = 5", "const maxRuns = 1"}},
			foundBy: []probe{test("callbacktests", "TestTheLoserOfADeadlockRunsAgain/mariadb"), test("callbacktests", "TestTheLoserOfASerializationFailureRunsAgain/postgres-pgx")},
		},
		{
			name:    "callback: what may have been committed runs again",
			edits:   []edit{{"callback/attempt.go", "if err == nil || errors.Is(err, nebis.ErrUnknown) {", "if err == nil {"}},
			foundBy: []probe{reads("TestNothingRunsAgainWhoseOutcomeIsUnknown")},
		},
		{
			name:    "callback: the work ends when the provider goes",
			edits:   []edit{{"callback/handler.go", "context.WithoutCancel(r.Context())", "r.Context()"}},
			foundBy: []probe{test("callbacktests", "TestAProviderThatHasGone/sqlite-modernc")},
		},
		{
			name:    "callback: the wrong words acknowledge (Alipay)",
			edits:   []edit{{"callback/alipay.go", "saying(\"success\")", "saying(\"SUCCESS\")"}},
			foundBy: []probe{hears("TestWhatIsHeardByteForByte", "alipay"), hears("TestThreeAtOnce", "alipay-gbk")},
		},
		{
			name:    "callback: the wrong words refuse (WeChat Pay)",
			edits:   []edit{{"callback/wechat.go", "{\"code\":\"FAIL\"", "{\"code\":\"SUCCESS\""}},
			foundBy: []probe{hears("TestWhatIsHeardByteForByte", "wechatpay")},
		},
	}
}

// Callbacks: what is one delivery, one business, and one change of state.
func telling() []fault {
	return []fault{
		{
			name:    "callback: another status of an order is taken for the same notice (epay)",
			edits:   []edit{{"callback/epay.go", "v.Get(\"trade_no\") + \"+\" + v.Get(\"trade_status\")", "v.Get(\"trade_no\")"}},
			foundBy: []probe{hears("TestNoticesOfOnePaymentInAnyOrder/as they should come", "epay")},
		},
		{
			name:    "callback: a notice without an identity is taken",
			edits:   []edit{{"callback/handler.go", "case e.Delivery == \"\":", "case false:"}},
			foundBy: []probe{test("callbacktests", "TestAProviderOfOnesOwn/sqlite-modernc")},
		},
		{
			name:    "callback: the notice's own identity is taken for that of its business",
			edits:   []edit{{"callback/once.go", "Key: shaped(business)", "Key: shaped(or(e.Delivery, business))"}},
			foundBy: []probe{hears("TestPartialRefundsInAnyOrder/as they should come", "stripe"), hears("TestPartialRefundsInAnyOrder/as they should come", "wechatpay")},
		},
		{
			name:    "callback: Once without its key",
			edits:   []edit{{"callback/once.go", "_, replayed, err := nebis.DoTx(ctx, s, tx, op, func", "replayed := false\n\t_ = op\n\t_, err := func(f func(context.Context) (struct{}, error)) (struct{}, error) { return f(ctx) }(func"}},
			foundBy: []probe{hears("TestPartialRefundsInAnyOrder/as they should come", "own"), test("callbacktests", "TestOnceLeavesWhatFailedUndone/sqlite-modernc")},
		},
		{
			name:    "callback: all refunds of a payment are one business",
			edits:   []edit{{"callback/event.go", "e.Payment + \"/refund/\" + e.Refund", "e.Payment + \"/refund\""}},
			foundBy: []probe{hears("TestPartialRefundsInAnyOrder/as they should come", "alipay"), hears("TestPartialRefundsInAnyOrder/as they should come", "webhooks")},
		},
		{
			name:    "callback: refunds that nothing tells apart are one business",
			edits:   []edit{{"callback/event.go", "case e.Payment == \"\", e.State == Refunded && e.Refund == \"\":", "case e.Payment == \"\":"}},
			foundBy: []probe{reads("TestAlipaysRefunds"), test("callbacktests", "TestAnEventThatDoesNotSayForWhatIsNoBusiness/"+"callback: the event tells of a refund, and not of which/sqlite-modernc")},
		},
		{
			name:    "callback: all events without a payment are one business",
			edits:   []edit{{"callback/once.go", "case e.Payment == \"\":\n\t\treturn false, ErrNoPayment\n\tcase business == \"\":", "case business == \"\" && e.Payment != \"\":"}},
			foundBy: []probe{test("callbacktests", "TestAnEventThatDoesNotSayForWhatIsNoBusiness/"+"callback: the event names no payment/sqlite-modernc")},
		},
		{
			name:    "callback: two accounts share their deliveries",
			edits:   []edit{{"callback/attempt.go", "Owner: owner(e.Account)", "Owner: owner(\"\")"}},
			foundBy: []probe{test("callbacktests", "TestTwoAccountsWithOneIdentity/sqlite-modernc")},
		},
		{
			name:    "callback: keys are kept for a day",
			edits:   []edit{{"callback/handler.go", "const Keep = 35 * 24 * time.Hour", "const Keep = 24 * time.Hour"}},
			foundBy: []probe{test("callbacktests", "TestADeliveryAndItsBusinessAreKeptFor35Days/sqlite-modernc")},
		},
		{
			name:    "callback: Moved does not look at how many rows have changed",
			edits:   []edit{{"callback/once.go", "return n == 1, nil", "return true, nil"}},
			foundBy: []probe{test("callbacktests", "TestMoved/sqlite-modernc")},
		},
		{
			name:    "callback: a shop's UPDATE does not name the state that it expects",
			edits:   []edit{{"cmd/internal/callbacktests/shop_test.go", "SET status = 'paid' WHERE number = ? AND status = 'pending'", "SET status = 'paid' WHERE number = ?"}},
			foundBy: []probe{hears("TestNoticesOfOnePaymentInAnyOrder/closed first", "alipay")},
		},
	}
}
