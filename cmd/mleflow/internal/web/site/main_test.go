package site

import (
	"os"
	"testing"

	"github.com/mleflow/mleflow/cmd/mleflow/internal/web/ui/browsertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	browsertest.Close()
	os.Exit(code)
}
