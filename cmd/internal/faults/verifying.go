package main

// reads is a test of what a provider's notice says and who has signed it; it needs no
// database.
func reads(name string) probe { return probe{pkg: "callback", run: levels(name)} }

// hears is a test of what becomes of the notices of one sender, on SQLite.
func hears(name, sender string) probe { return test("callbacktests", name+"/sqlite-modernc "+sender) }

// Callbacks: nothing is believed that the provider has not signed, as it was sent, now.
func verifying() []fault {
	return []fault{
		{
			name:    "callback: a signature is not looked at (Stripe)",
			edits:   []edit{{"callback/stripe.go", "secret != \"\" && hmac.Equal(want, sig)", "secret != \"\" && (hmac.Equal(want, sig) || true)"}},
			foundBy: []probe{reads("TestWhatIsForgedIsRefused"), hears("TestAForgedNoticeLeavesNoTrace", "stripe")},
		},
		{
			name:    "callback: a signature is compared as far as it goes (Stripe)",
			edits:   []edit{{"callback/stripe.go", "hmac.Equal(want, sig)", "hmac.Equal(want[:min(len(want), len(sig))], sig)"}},
			foundBy: []probe{reads("TestStripesSignature/empty"), reads("TestWhatIsForgedIsRefused")},
		},
		{
			name: "callback: a signature is compared as far as it goes (epay)",
			edits: []edit{
				{"callback/epay.go", "subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(sign)) != 1", "!strings.HasPrefix(hex.EncodeToString(sum[:]), sign)"},
				{"callback/epay.go", "\t\"crypto/subtle\"\n", ""},
			},
			foundBy: []probe{reads("TestWhatIsForgedIsRefused")},
		},
		{
			name: "callback: a notice is opened before its signature is checked (WeChat Pay)",
			edits: []edit{{
				"callback/wechat.go", "if err := weChatSigned(r.Header, body, keys, now()); err != nil {\n\t\t\t\treturn Event{}, err\n\t\t\t}\n\t\t\treturn weChatEvent(body, mchID, apiKey)",
				"e, err := weChatEvent(body, mchID, apiKey)\n\t\t\tif err != nil {\n\t\t\t\treturn Event{}, err\n\t\t\t}\n\t\t\treturn e, weChatSigned(r.Header, body, keys, now())",
			}},
			foundBy: []probe{reads("TestWeChatPaysSignature/forged, and cannot be read"), hears("TestAForgedNoticeLeavesNoTrace", "wechatpay")},
		},
		{
			name: "callback: a probe's signature is taken (WeChat Pay)",
			edits: []edit{
				{"callback/wechat.go", "[]byte(message), h.Get(\"Wechatpay-Signature\")", "[]byte(message), strings.TrimPrefix(h.Get(\"Wechatpay-Signature\"), \"WECHATPAY/SIGNTEST/\")"},
				{"callback/wechat.go", "\t\"strconv\"\n", "\t\"strconv\"\n\t\"strings\"\n"},
			},
			foundBy: []probe{reads("TestProbesAreRefused"), hears("TestAProbeIsRefused", "wechatpay")},
		},
		{
			name:    "callback: the time of a signature is not looked at",
			edits:   []edit{{"callback/keys.go", "off > tolerance {", "off > tolerance && false {"}},
			foundBy: []probe{reads("TestStripesSignature/too old"), reads("TestTheVectorOfStandardWebhooks/of the future"), reads("TestWeChatPaysSignature/too old")},
		},
		{
			name:    "callback: the time of a signature is not looked at (WeChat Pay)",
			edits:   []edit{{"callback/wechat.go", "return fresh(seconds, now)", "_ = seconds\n\treturn nil"}},
			foundBy: []probe{reads("TestWeChatPaysSignature/of the future")},
		},
	}
}
