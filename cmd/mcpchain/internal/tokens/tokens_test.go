package tokens_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/tokens"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestAgain gives and takes tokens while the table is used. A file with a mistake changes nothing.
func TestAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		t.Helper()
		check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	const first, second = "0123456789abcdef", "fedcba9876543210"
	write("# people\n\nada " + first + "\nada " + first + "\n") // a line twice is no mistake
	table := check.Value(tokens.Read(path))(t)
	user, hash, ok := table.Find(first)
	check.That(t, user == "ada" && ok && table.Holds("ada", hash) && !table.Holds("bob", hash) && !strings.Contains(hash, first),
		"got %q, %q, %v, want ada and a hash", user, hash, ok)
	for text, want := range map[string]string{
		"ada short\n":                            ":1: want a user",
		"ada\n":                                  ":1: want two words, a user and a token, and got 1",
		"ada " + first + " her token\n":          ":1: want two words, a user and a token, and got 4",
		"# nobody\n":                             "names no user",
		"ada " + first + "\nbob " + first + "\n": ":2: two users",
		strings.Repeat("a", 300) + " " + first:   ":1: want a user",
		"J\xfcrgen " + first + "\n":              ":1: the file is not in UTF-8",
		"\nada " + strings.Repeat("x", 100_000):  "users:2: bufio.Scanner: token too long",
	} {
		write(text)
		check.Text(t, check.Err(table.Reload()), want, text)
		check.That(t, table.Holds("ada", hash), "%.40q has changed the users", text)
	}
	write("\ufeffbob " + second + "\n") // as an editor of Windows writes it
	n, err := table.Reload()
	check.That(t, n == 1 && err == nil && !table.Holds("ada", hash), "got %d users, %v, want that the token of ada is taken back", n, err)
	user, _, ok = table.Find(second)
	check.That(t, user == "bob" && ok, "got %q, %v, want bob", user, ok)
}
