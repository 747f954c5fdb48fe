package shop

// Goods are what the shop sells. Names and descriptions are texts; only what
// changes, the stock, is in the database.
type goods struct {
	Code  string
	Stock *int // nil: never runs out
	Cents int64
}

// pointsEach is what one piece of anything gives.
const pointsEach = 10

// shelf is the shop's goods in the order of the page.
var shelf = []goods{
	{Code: "tea", Cents: 1200},
	{Code: "biscuits", Stock: pieces(24), Cents: 3600},
	{Code: "last-cup", Stock: pieces(1), Cents: 8800},
}

func pieces(n int) *int { return &n }

func known(code string) bool { return goodsOf(code) != nil }

func goodsOf(code string) *goods {
	for i := range shelf {
		if shelf[i].Code == code {
			return &shelf[i]
		}
	}
	return nil
}
