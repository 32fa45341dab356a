package stdio

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestCommandEnvironment shows that a server is given no secret of this process unless it is asked for.
func TestCommandEnvironment(t *testing.T) {
	own := []string{"PATH=/bin", "OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=x", "SHELL=() { evil; }"}
	check.Same(t, "", (&Command{Env: []string{"TOKEN=t", "PATH=/usr/bin"}}).environment(own), []string{"PATH=/bin", "TOKEN=t", "PATH=/usr/bin"})
	check.Same(t, "with InheritEnv", (&Command{InheritEnv: true, Env: []string{"A=b"}}).environment(own), append(own, "A=b"))
	if got := new(Command).environment([]string{"A=b"}); got == nil || len(got) != 0 {
		t.Errorf("got %#v, want an empty environment and not nil, which means all", got)
	}
}

func TestHarmless(t *testing.T) {
	for _, test := range []struct {
		system, name, value string
		want                bool
	}{
		{"linux", "LC_ALL", "C", true},
		{"linux", "lc_all", "C", false},
		{"linux", "PATH", "() { evil; }", false},
		{"linux", "APPDATA", "x", false},
		{"windows", "AppData", `C:\Users\a`, true},
		{"windows", "Path", `C:\`, true},
		{"windows", "SHELL", "sh", false},
		{"windows", "OPENAI_API_KEY", "sk-1", false},
	} {
		check.Equal(t, test.name+" on "+test.system, isHarmless(test.system, test.name, test.value), test.want)
	}
}

// What is not a variable is not quoted: it may be a secret that lacks its name.
func TestCommandWithoutVariable(t *testing.T) {
	for _, entry := range []string{"secret", "=secret", ""} {
		_, err := (&Command{Path: os.Args[0], Env: []string{"A=b", entry}}).Dial(t.Context())
		if err == nil || !strings.Contains(err.Error(), "Env[1]: want KEY=value") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: got %v, want an error about its form", entry, err)
		}
	}
	_, err := (&Command{Path: "./no-such-server", Env: []string{`=C:=C:\a`, "A="}}).Dial(t.Context())
	check.Is(t, err, fs.ErrNotExist)
}

func TestCommandWithArgumentsInItsPath(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "a server")
	check.Must(t, os.WriteFile(plain, nil, 0o600))
	for path, want := range map[string]bool{"npx -y some-server": true, "/bin/none -x": true, plain: false} {
		_, err := (&Command{Path: path}).Dial(t.Context())
		if err == nil || strings.Contains(err.Error(), "arguments belong in Args") != want {
			t.Errorf("%q: got %v, want a hint about Args: %t", path, err, want)
		}
	}
}
