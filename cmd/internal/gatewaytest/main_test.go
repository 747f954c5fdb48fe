package gatewaytest

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	code := m.Run()
	Clean()
	os.Exit(code)
}
