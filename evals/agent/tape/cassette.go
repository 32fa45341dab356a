package tape

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Label describes a cassette.
type Label struct {
	Model   string            `json:"model"`
	BaseURL string            `json:"base_url"`
	Info    Info              `json:"info"`   // info of the model
	Date    time.Time         `json:"date"`   // date of the first recording
	Suites  map[string]string `json:"suites"` // hashes by name
}

// labelName is the file of the label.
const labelName = "cassette.json"

// Begin creates a cassette, or continues one of the same model. It refuses another version of a suite that it has.
func Begin(dir string, want *Label) error {
	label, err := readLabel(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		label = &Label{want.Model, want.BaseURL, want.Info, want.Date, map[string]string{}}
	case err != nil:
		return err
	case label.Model != want.Model || label.BaseURL != want.BaseURL:
		return fmt.Errorf("%s has the replies of %s at %s: record %s at %s into another directory", dir, label.Model, label.BaseURL, want.Model, want.BaseURL)
	}
	for name, hash := range want.Suites {
		if old, ok := label.Suites[name]; ok && old != hash {
			return fmt.Errorf("%s has replies for another version of the suite %q: record into another directory", dir, name)
		}
	}
	maps.Copy(label.Suites, want.Suites)
	data, err := json.MarshalIndent(label, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, labelName), append(data, '\n'), 0o600)
}

// Read returns the label of a cassette and the hash of its content.
func Read(dir string) (*Label, string, error) {
	l, err := readLabel(dir)
	if err != nil {
		return nil, "", err
	}
	sum := sha256.New()
	files := os.DirFS(dir)
	err = fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		fmt.Fprintf(sum, "/%s %d\n%s", path, len(data), data)
		return err
	})
	return l, hex.EncodeToString(sum.Sum(nil)[:6]), err
}

func readLabel(dir string) (*Label, error) {
	data, err := os.ReadFile(filepath.Join(dir, labelName))
	if err != nil {
		return nil, err
	}
	l := &Label{Suites: map[string]string{}}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, labelName), err)
	}
	return l, nil
}

// File returns the file of a trial in a cassette.
func File(dir, suite, task string, trial int) string {
	return filepath.Join(dir, url.PathEscape(suite), fmt.Sprintf("%s.%d.jsonl", url.PathEscape(task), trial))
}

// Clear deletes the recording of a trial before it is recorded again.
func Clear(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.MkdirAll(filepath.Dir(file), 0o700)
}
