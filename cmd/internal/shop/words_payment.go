package shop

// paymentTexts are the texts of payment, of outside calls and of the life of an order.
var paymentTexts = map[string]text{
	"money":     {"%s yuan", "%s 元"},
	"pay":       {"Pay", "去付款"},
	"pay_price": {"Pay %s", "付款 %s"},
	"pay_again": {"To the payment provider", "回到支付平台"},
	"see_life":  {"The life of this order", "这一单的经过"},

	// The status of an order, beside accepted and picked-up.
	"paid":      {"paid", "已付款"},
	"cancelled": {"cancelled", "已取消"},
	"refunding": {"cancelled, the money is on its way back", "已取消，退款中"},
	"refunded":  {"cancelled, the money was sent back", "已取消，已退款"},
	"credited":  {"cancelled, the money became points", "已取消，已折成积分"},

	"cancel":        {"Cancel the order", "取消订单"},
	"cancel_refund": {"The refund service (simulated)", "退款服务（模拟）"},

	// The simulated provider.
	"provider_simulated":       {"A simulation. This page plays the payment provider; no money moves.", "这是模拟。本页扮演支付平台，不会真的扣款。"},
	"provider_title":           {"Pay, and be told three times.", "付一次款，通知三遍。"},
	"provider_lead":            {"Order %d, %s. The provider tells the shop of the payment by a signed callback, as 易支付 (epay) does. The shop checks the signature and takes the payment once, however often it is told.", "订单 %d，%s。支付平台按易支付的格式，用签了名的回调通知铺子。铺子先验签，通知来多少遍都只入账一次。"},
	"provider_what":            {"What happens on the way", "路上会发生什么"},
	"provider_again":           {"Send it again", "再发一次"},
	"provider_real":            {"A real provider stops at the first “success”. This one goes on, on purpose.", "真正的平台收到 success 就不再发。这里故意接着发。"},
	"provider_times":           {"Callbacks", "回调发几遍"},
	"provider_order":           {"One after the other, or at once", "先后发还是同时发"},
	"provider_order_one":       {"one after the other", "一个接一个"},
	"provider_order_all":       {"all at once", "同时发出"},
	"provider_gap":             {"Pause between two", "两次之间停多久"},
	"provider_gap_0":           {"none", "不停"},
	"provider_gap_200":         {"0.2 seconds", "0.2 秒"},
	"provider_gap_1000":        {"one second", "一秒"},
	"provider_drop":            {"The line breaks during the first … answers", "前几个响应传到一半就断线"},
	"provider_signature":       {"Signature", "签名"},
	"provider_signature_good":  {"genuine", "正确"},
	"provider_signature_wrong": {"forged", "伪造"},
	"provider_coupon":          {"Afterwards, the coupon service (simulated)", "付款之后，优惠券服务（模拟）"},
	"provider_pay":             {"Pay %s", "付款 %s"},
	"provider_answers":         {"What the shop has answered", "铺子的响应"},
	"provider_sent":            {"sent", "次发出"},
	"provider_acknowledged":    {"acknowledged", "次得到确认"},
	"provider_cut":             {"The line broke: no answer", "断线，没收到响应"},
	"provider_bad":             {"1 to 10 callbacks, 0 to 10 broken lines, and choices from the lists.", "回调 1 到 10 遍，断线 0 到 10 次，其余请从列表里选。"},
	"provider_terminal":        {"A forged callback first, then the genuine one three times. The key is the simulation’s, and new at each start.", "先发一个伪造的，再把真的发三遍。这是模拟平台的密钥，每次启动都换新的。"},

	// How a simulated service behaves.
	"mood_works": {"works", "正常"},
	"mood_twice": {"fails twice, then works", "失败两次，然后正常"},
	"mood_never": {"refuses for good", "一直拒绝"},
	"mood_lost":  {"does it, and its first answer is lost", "办了，但第一次的响应丢失"},
	"mood_slow":  {"is slow: two seconds before it acts, two more to answer", "很慢：过两秒才办，再过两秒才响应"},

	// The life of an order.
	"life_title":  {"The life of order %d", "订单 %d 的经过"},
	"life_story":  {"What happened", "经过"},
	"life_about":  {"What is marked “in the database” was committed. The rest is what this process has seen since it started: repeats leave no trace in the tables.", "标着“已提交”的是数据库里的事实，其余是铺子这次启动以来看到的：重复的请求在表里不留痕迹。"},
	"life_kept":   {"in the database", "已提交"},
	"life_made":   {"The order: %d × %s, %d points.", "下单：%d 份%s，得 %d 积分。"},
	"life_tries":  {"Tries", "次数"},
	"life_error":  {"Last error", "最近的错误"},
	"life_answer": {"Answer", "响应"},
	"life_key":    {"Key, the same at every try", "键，每次都一样"},
	"life_books":  {"The other side’s books", "对方的账"},
	"life_booked": {"requests: %d, done: %d", "收到 %d 次，办了 %d 次"},

	"life_request_created":  {"A request placed it.", "一个请求下了这一单。"},
	"life_request_replayed": {"The same request again. It got the first answer; nothing was done.", "同一个请求又来了，拿到第一次的结果，什么也没做。"},
	"life_attempt_failed":   {"An attempt failed. All of it was taken back, and the key stayed free.", "一次尝试失败，全部撤回，键还空着。"},
	"life_failures":         {"Callbacks that failed: %d. The last reason:", "失败的回调：%d 次。最近的原因："},

	"life_callback_accepted":  {"Callback: the signature holds. Taken, and acknowledged.", "回调：验签通过，已处理并确认。"},
	"life_callback_duplicate": {"The same callback again. Acknowledged as the first; nothing was done.", "同一个回调又来了，照第一次那样确认，什么也没做。"},
	"life_callback_refused":   {"Callback with a wrong signature. Refused; nothing was done.", "回调的签名不对，已拒绝，什么也没做。"},
	"life_callback_busy":      {"Callback while the same one was under way. Not acknowledged, so it comes again.", "同一个回调正在处理，先不确认，等它再来。"},
	"life_callback_failed":    {"Callback that the shop could not take. All of it was taken back, and it comes again.", "这个回调铺子处理不了，全部撤回，等它再来。"},

	"life_cut": {" The line broke during the answer.", "响应传到一半断了线。"},

	"life_event_paid":          {"Paid. %s points more.", "已付款，再加 %s 积分。"},
	"life_event_paid-late":     {"Money for a cancelled order. It goes back.", "订单已取消，钱才到账，原路退回。"},
	"life_event_coupon-call":   {"The call for the coupon was written down in the same transaction: number %s in the outbox.", "要优惠券的调用记在同一个事务里：发件箱第 %s 号。"},
	"life_event_coupon":        {"The coupon is there.", "优惠券到了。"},
	"life_event_no-coupon":     {"No coupon, for good. Compensation: %s points in its place.", "优惠券要不到了。补偿：改送 %s 积分。"},
	"life_event_cancelled":     {"Cancelled. The goods are back on the shelf, and %s points were taken back.", "已取消。商品放回货架，收回 %s 积分。"},
	"life_event_refund-call":   {"The call for the refund was written down in the same transaction: number %s in the outbox.", "退款的调用记在同一个事务里：发件箱第 %s 号。"},
	"life_event_withdraw-call": {"The coupon must go, too. The call for that was written down in the same transaction: number %s in the outbox.", "优惠券也要收回，这个调用记在同一个事务里：发件箱第 %s 号。"},
	"life_event_withdrawn":     {"The coupon was withdrawn.", "优惠券已收回。"},
	"life_event_refunded":      {"%s were sent back.", "已退回 %s。"},
	"life_event_credited":      {"The money could not be sent back. Compensation: %s points.", "钱退不回去。补偿：改送 %s 积分。"},

	"service_coupon":   {"the coupon", "发优惠券"},
	"service_withdraw": {"withdrawing the coupon", "收回优惠券"},
	"service_refund":   {"the refund", "退款"},

	"life_call":         {"Outside call: %s", "对外调用：%s"},
	"life_try_answered": {"Outside call for %s, try %d: answered.", "对外调用（%s），第 %d 次：有响应。"},
	"life_try_failed":   {"Outside call for %s, try %d: failed.", "对外调用（%s），第 %d 次：失败。"},

	"life_state_pending":      {"waits for its first try", "等待第一次调用"},
	"life_state_running":      {"under way", "调用中"},
	"life_state_done":         {"made, and answered", "已完成"},
	"life_state_failed":       {"failed, will be tried again", "失败，会再试"},
	"life_state_compensating": {"failed for good, the compensation runs", "彻底失败，正在补偿"},
	"life_state_compensated":  {"failed for good, and compensated", "彻底失败，已补偿"},
	"life_state_dead":         {"waits for a person", "等人处理"},
}
