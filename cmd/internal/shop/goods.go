package shop

// Goods are what the shop sells. Names and descriptions are texts; only what
// changes, the stock, is in the database.
type goods struct {
	Code  string
	Stock *int // nil: never runs out
}

// pointsEach is what one piece of anything gives.
const pointsEach = 10

// shelf is the shop's goods in the order of the page.
var shelf = []goods{
	{Code: "tea"},
	{Code: "biscuits", Stock: pieces(24)},
	{Code: "last-cup", Stock: pieces(1)},
}

func pieces(n int) *int { return &n }

func known(code string) bool {
	for _, g := range shelf {
		if g.Code == code {
			return true
		}
	}
	return false
}
