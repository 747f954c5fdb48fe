package figures

import "context"

var (
	sweeps    = count("nebis.sweeps", "sweep", "Clean-ups of this process, by outcome: succeeded, failed.", "outcome")
	sweptRows = count("nebis.swept_rows", "row", "Expired rows that this process has removed.")
)

// swept is the clean-ups that this process has made.
type swept struct{ succeeded, failed, rows Add }

func newSwept(s Sink) swept {
	return swept{s.Counter(sweeps, "succeeded"), s.Counter(sweeps, "failed"), s.Counter(sweptRows)}
}

// Swept counts a clean-up that has ended: how many rows it removed, and its error.
// Rows that it removed before it failed count as well.
func (c *Counts) Swept(removed int, err error) {
	ctx := context.Background()
	c.swept.rows(ctx, removed)
	if err != nil {
		c.swept.failed(ctx, 1)
		return
	}
	c.swept.succeeded(ctx, 1)
}
