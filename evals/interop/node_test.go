package interop

import (
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

var listening = regexp.MustCompile(`^listening on (\d+)$`)

// nodeAt starts a program that serves HTTP, waits until it listens, and returns
// its URL without a path. testdata/listen.mjs gives it a free port.
func nodeAt(t *testing.T, set *testenv.NPM, program string, args ...string) string {
	t.Helper()
	listen, err := filepath.Abs(filepath.FromSlash("testdata/listen.mjs"))
	check.Must(t, err)
	return "http://127.0.0.1:" + set.Listen(t, listening, append([]string{"--import", "file://" + filepath.ToSlash(listen), program}, args...)...)
}
