package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOpen makes a file that only its user may read, whatever its name has, and says why another place cannot be used.
func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "a b?#%.db")
	for range 2 {
		db, err := Open(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file of the user alone", info, err)
	}
	for place, want := range map[string]string{
		"": "name a file by -store", "mysql://user:secret@h/runs": "not kept at mysql:// places", t.TempDir(): "directory",
	} {
		if _, err := Open(t.Context(), place); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: got %v, want %q", place, err, want)
		}
	}
	for place, want := range map[string]bool{"postgres://h/runs": true, "postgresql://h": true, "host=h dbname=runs": true, "runs.db": false, "C:/postgres": false} {
		if IsPostgres(place) != want {
			t.Errorf("%s: got %v, want %v", place, !want, want)
		}
	}
}
