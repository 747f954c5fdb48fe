package outboxtests

import (
	"flag"
	"testing"

	"github.com/nebis-dev/nebis/cmd/internal/killed"
)

var times = flag.Int("times", 5, "how often each step is killed on each database")

func TestMain(m *testing.M) { killed.Main(m, results.print) }
