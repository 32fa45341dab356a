package adapter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// FileDecisions keeps decisions in a directory of their own, one file for each,
// replaced as a whole. Any number of toolsets and processes may share it. It
// keeps at most 10,000; later ones are refused with an error.
//
// Who can write to the directory can allow calls: it is made for its owner alone
// (mode 0700), and so are the files. One to which a group or others can write is
// refused, except on Windows.
type FileDecisions struct{ dir string }

// NewFileDecisions returns the store in a directory, which is made when the
// first decision is kept.
func NewFileDecisions(dir string) *FileDecisions { return &FileDecisions{dir} }

// decisionFile is what a file holds.
type decisionFile struct {
	Key    DecisionKey `json:"key"`
	Allow  bool        `json:"allow"`
	Reason string      `json:"reason,omitempty"`
}

const (
	decisionSuffix  = ".decision.json"
	maxDecisionFile = 64 << 10 // bytes

	newDecision  = "new-"    // begins the name of a file that is being written
	abandonAfter = time.Hour // by a process that ended meanwhile
)

// check refuses a directory in which others can allow calls. One that is not there
// yet is no error.
func (s *FileDecisions) check() error {
	info, err := os.Stat(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 && runtime.GOOS != "windows" {
		return fmt.Errorf("%s has the mode %#o, so that others can write to it: want 0700", s.dir, mode)
	}
	return nil
}

func (s *FileDecisions) path(key DecisionKey) (string, error) {
	raw, err := json.Marshal(key)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+decisionSuffix), nil
}

// Recall implements [DecisionStore].
func (s *FileDecisions) Recall(_ context.Context, key DecisionKey) (Decision, bool, error) {
	if err := s.check(); err != nil {
		return Decision{}, false, fmt.Errorf("recall a decision: %w", err)
	}
	path, err := s.path(key)
	if err != nil {
		return Decision{}, false, err
	}
	f, err := readDecision(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Decision{}, false, nil
	case err != nil:
		return Decision{}, false, fmt.Errorf("recall a decision: %w", err)
	case f.Key != key:
		return Decision{}, false, fmt.Errorf("recall a decision: %s is about another call: remove it", path)
	}
	return Decision{Allow: f.Allow, Reason: f.Reason, Remember: key.Scope}, true, nil
}

func readDecision(path string) (f decisionFile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return f, err
	}
	defer func() { _ = file.Close() }()
	raw, err := io.ReadAll(io.LimitReader(file, maxDecisionFile))
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%s: %w: remove it", path, err)
	}
	return f, nil
}

// Remember implements [DecisionStore].
func (s *FileDecisions) Remember(_ context.Context, key DecisionKey, d Decision) error {
	if err := s.remember(key, d); err != nil {
		return fmt.Errorf("remember a decision: %w", err)
	}
	return nil
}

func (s *FileDecisions) remember(key DecisionKey, d Decision) (err error) {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(decisionFile{Key: key, Allow: d.Allow, Reason: cut(d.Reason, 1024)})
	if err != nil {
		return err
	}
	if len(raw) > maxDecisionFile {
		return fmt.Errorf("%d bytes: want at most %d", len(raw), maxDecisionFile)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		s.sweep()
		all, err := s.files()
		if err != nil {
			return err
		}
		if len(all) >= maxRemembered {
			return errTooManyDecisions
		}
	}
	file, err := os.CreateTemp(s.dir, newDecision+"*") // of mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(raw)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// sweep removes what was begun and never finished, as far as it can.
func (s *FileDecisions) sweep() {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), newDecision) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandonAfter {
			_ = os.Remove(filepath.Join(s.dir, e.Name()))
		}
	}
}

// files lists the decisions that are kept.
func (s *FileDecisions) files() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), decisionSuffix) {
			out = append(out, filepath.Join(s.dir, e.Name()))
		}
	}
	return out, nil
}

// Forget implements [DecisionStore]. A file that cannot be read is removed, too.
func (s *FileDecisions) Forget(server string) error {
	all, err := s.files()
	if err != nil {
		return fmt.Errorf("forget decisions: %w", err)
	}
	var errs []error
	for _, path := range all {
		if f, err := readDecision(path); err == nil && server != "" && f.Key.Server != server {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("forget decisions: %w", err))
		}
	}
	return errors.Join(errs...)
}
