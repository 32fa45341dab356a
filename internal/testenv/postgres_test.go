package testenv

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestNewestPostgres(t *testing.T) {
	path := func(version string) string { return "/usr/lib/postgresql/" + version + "/bin/initdb" }
	check.Equal(t, "newest", newest([]string{path("16"), path("9.6"), path("17"), path("9")}), path("17"))
}
