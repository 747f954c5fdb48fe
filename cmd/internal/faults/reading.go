package main

// Callbacks: what was signed are the bytes that came, and what they say is read in the
// provider's terms.
func reading() []fault {
	return []fault{
		{
			name: "callback: what is checked is the body written anew (Stripe)",
			edits: []edit{{
				"callback/stripe.go", "message := append([]byte(stamp+\".\"), body...)",
				"var anew any\n\t_ = json.Unmarshal(body, &anew)\n\tbody, _ = json.Marshal(anew)\n\tmessage := append([]byte(stamp+\".\"), body...)",
			}},
			foundBy: []probe{reads("TestStripesSignature/one")},
		},
		{
			name: "callback: what is checked is the body written anew (WeChat Pay)",
			edits: []edit{{
				"callback/wechat.go", "\"\\n\" + string(body) + \"\\n\"",
				"\"\\n\" + func() string { var anew any; _ = json.Unmarshal(body, &anew); b, _ := json.Marshal(anew); return string(b) }() + \"\\n\"",
			}},
			foundBy: []probe{reads("TestWeChatPaysSignature/as it stands")},
		},
		{
			name:    "callback: the associated data is left out (WeChat Pay)",
			edits:   []edit{{"callback/wechat.go", "n.Resource.Ciphertext, []byte(n.Resource.Associated))", "n.Resource.Ciphertext, nil)"}},
			foundBy: []probe{reads("TestWeChatPaysSignature/as it stands"), hears("TestThreeInARow", "wechatpay")},
		},
		{
			name: "callback: text in GBK is made UTF-8 before its signature is checked (Alipay)",
			edits: []edit{
				{"callback/alipay.go", "[]byte(text)", "[]byte(strings.ToValidUTF8(text, \"?\"))"},
				{"callback/alipay.go", "\t\"strconv\"\n", "\t\"strconv\"\n\t\"strings\"\n"},
			},
			foundBy: []probe{reads("TestAlipayInGBK"), hears("TestThreeInARow", "alipay-gbk")},
		},
		{
			name:    "callback: fields without a value are signed, too (epay)",
			edits:   []edit{{"callback/epay.go", "joined(v, false,", "joined(v, true,"}},
			foundBy: []probe{test("callbacktests", "TestStripeAndEpayAgainstOpenSSL")},
		},
		{
			name:    "callback: of a field that comes twice the first is taken",
			edits:   []edit{{"callback/fields.go", "if len(all) > 1 {", "if len(all) > 2 {"}},
			foundBy: []probe{reads("TestFieldsThatComeTwiceAreRefused"), test("callbacktests", "TestNoticesThatCannotBeRead/sqlite-modernc")},
		},
		{
			name:    "callback: a body of any size is read",
			edits:   []edit{{"callback/handler.go", "io.ReadAll(http.MaxBytesReader(w, r.Body, h.p.MaxBody))", "io.ReadAll(r.Body)"}},
			foundBy: []probe{test("callbacktests", "TestNoticesThatCannotBeRead/sqlite-modernc")},
		},
	}
}

// Callbacks: whose notice it is, what it says, and what must not be said of it.
func meaning() []fault {
	return []fault{
		{
			name:    "callback: a notice of another account is taken (Alipay)",
			edits:   []edit{{"callback/alipay.go", "if v.Get(\"app_id\") != appID {", "if v.Get(\"app_id\") == \"\" {"}},
			foundBy: []probe{reads("TestANoticeOfAnotherAccountIsRefused")},
		},
		{
			name:    "callback: only the first of two secrets is tried (Stripe)",
			edits:   []edit{{"callback/stripe.go", "range secrets {", "range secrets[:1] {"}},
			foundBy: []probe{reads("TestStripesSignature/of two, while one is rolled")},
		},
		{
			name:    "callback: only the first of two secrets is tried (Standard Webhooks)",
			edits:   []edit{{"callback/standard.go", "range checks {", "range checks[:1] {"}},
			foundBy: []probe{reads("TestTheVectorOfStandardWebhooks/one of two secrets")},
		},
		{
			name:    "callback: an amount is in yuan",
			edits:   []edit{{"callback/fields.go", "whole+(part + \"00\")[:2]", "whole"}},
			foundBy: []probe{reads("TestCents"), hears("TestThreeInARow", "alipay"), hears("TestThreeInARow", "epay")},
		},
		{
			name:    "callback: a partial refund is a payment (Alipay)",
			edits:   []edit{{"callback/alipay.go", "if e.Refunded > 0 || v.Get(\"gmt_refund\") != \"\" {", "if e.State == Refunded {"}},
			foundBy: []probe{reads("TestAlipaysRefunds"), hears("TestPartialRefundsInAnyOrder/as they should come", "alipay")},
		},
		{
			name: "callback: a secret stands in an error (epay)",
			edits: []edit{
				{"callback/epay.go", "\t\t\treturn Event{}, ErrSignature\n", "\t\t\treturn Event{}, fmt.Errorf(\"%w: of %s\", ErrSignature, joined(v, false, \"sign\", \"sign_type\")+key)\n"},
				{"callback/epay.go", "\t\"encoding/hex\"\n", "\t\"encoding/hex\"\n\t\"fmt\"\n"},
			},
			foundBy: []probe{hears("TestTheLogHasNoSecretAndNoBody", "epay")},
		},
		{
			name:    "callback: a secret stands in an error (WeChat Pay)",
			edits:   []edit{{"callback/wechat.go", "errors.New(\"callback: the notice cannot be decrypted: is the APIv3 key right?\")", "fmt.Errorf(\"callback: the notice cannot be decrypted with %s\", apiKey)"}},
			foundBy: []probe{reads("TestWeChatPaysSignature/under another APIv3 key")},
		},
	}
}
