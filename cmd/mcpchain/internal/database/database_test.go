package database

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
)

// Open creates a file that only its user may read, whatever characters its name has. It says why it cannot use another place.
func TestOpen(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	file := cli.Place("new", "a b?#%.db")
	for range 2 {
		check.NoError(t, check.Value(Open(t.Context(), file))(t).Close())
	}
	info, err := os.Stat(file)
	check.That(t, err == nil && info.Size() != 0 && info.Mode().Perm() == 0o600, "got %v, %v, want a file of the user alone", info, err)
	text := filepath.Join(t.TempDir(), "sums.json")
	check.Must(t, os.WriteFile(text, []byte(`{"servers": {}}`), 0o600))
	missing := filepath.Join(t.TempDir(), "new")
	for place, want := range map[string]string{
		text: "-store: " + text + " is not a SQLite database", filepath.Join(missing, "a.db"): "there is no folder " + missing + ": create it",
		"": "-store: the configuration folder is not known: name a file", "mysql://user:secret@h/runs": "not kept at mysql:// places", t.TempDir(): "directory",
	} {
		_, err := Open(t.Context(), place)
		check.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "secret"), "%s: got %v, want %q", place, err, want)
	}
	check.Fails(t, check.Err(os.Stat(missing)), "got a folder that was named on the command line, want none")
}

func TestIsPostgres(t *testing.T) {
	for place, want := range map[string]bool{
		"postgres://h/runs": true, "postgresql://h": true, "POSTGRES://h/runs": true,
		"host=h dbname=runs": true, "dbname=runs host=h": true, "user = ada": true,
		"runs.db": false, "C:/postgres": false, "mysql://h": false, "runs=1.db": false,
	} {
		check.That(t, IsPostgres(place) == want, "%s: got %v, want %v", place, !want, want)
	}
}

func TestIsUnavailable(t *testing.T) {
	for code, want := range map[string]bool{"57P03": true, "53100": true, "23505": false, "": false} {
		check.Equal(t, code, IsUnavailable(fmt.Errorf("load: %w", &pgconn.PgError{Code: code})), want)
	}
}

// A folder with other files in it does not become a store. An empty one does, also if it has a part of a store, and is
// opened again.
func TestFolderOfOtherFiles(t *testing.T) {
	home, empty := t.TempDir(), t.TempDir()
	check.Must(t, os.WriteFile(filepath.Join(home, "letter.txt"), nil, 0o600))
	_, _, err := OpenStore(t.Context(), home)
	check.Text(t, err, "-store: "+home+" is neither empty nor a store of runs")
	_, ok := errors.AsType[*cli.FileError](err)
	check.That(t, ok, "got %T, want that the folder is wrong", err)
	inside, err := os.ReadDir(home)
	check.That(t, err == nil && len(inside) == 1, "got %v, %v, want the letter alone", inside, err)
	check.Must(t, os.Mkdir(filepath.Join(empty, "locks"), 0o700))      // by another process, which is creating the store
	check.Must(t, os.Mkdir(filepath.Join(empty, "lost+found"), 0o700)) // of the root of a volume
	for range 2 {
		_, closer, err := OpenStore(t.Context(), empty)
		check.Must(t, err)
		check.NoError(t, closer())
	}
}

// An error about the configuration folder names the flag for another place.
func TestNoConfigurationFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check.Must(t, os.WriteFile(file, nil, 0o600))
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, file)
	}
	_, err := Open(t.Context(), cli.Place("web", "web.db"))
	_, ok := errors.AsType[*cli.FileError](err)
	check.That(t, ok && strings.HasPrefix(err.Error(), "-store: mkdir "), "got %v", err)
}

// The URL of a server is not a folder, whatever it ends with.
func TestOpenStore(t *testing.T) {
	t.Chdir(t.TempDir())
	for place, want := range map[string]string{"mysql://user:secret@h/": "not kept at mysql:// places", "postgres://127.0.0.1:1/": "127.0.0.1", "POSTGRES://127.0.0.1:1/": "127.0.0.1"} {
		_, _, err := OpenStore(t.Context(), place)
		check.That(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "secret"), "%s: got %v, want %q", place, err, want)
	}
	for _, place := range []string{"runs/", "runs", "runs.db"} { // the second is the folder by now
		_, closer, err := OpenStore(t.Context(), place)
		check.Must(t, err)
		check.NoError(t, closer())
	}
	made, err := filepath.Glob("*")
	check.That(t, err == nil && slices.Equal(made, []string{"runs", "runs.db"}), "got %q, %v", made, err)
}
