package approval

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/private"
)

// Files is a [Store] that keeps each decision as a file of a directory of its own. Any number of
// toolsets and processes may share it. It keeps at most 10,000 decisions.
//
// Whoever can write to the directory can allow calls. So Files creates the directory (mode 0700)
// and the files (mode 0600) for their owner only. It refuses symbolic links and, on Unix,
// directories and files that belong to another user or that others can write to.
type Files struct{ dir string }

// NewFiles returns the store in a directory. The first Remember creates the directory.
func NewFiles(dir string) *Files { return &Files{dir} }

// maxDecisions bounds the decisions in a directory.
const maxDecisions = 10_000

var errFull = fmt.Errorf("%d decisions are already remembered", maxDecisions)

// matches reports whether the key belongs to a user and a server. "" means all.
func (k *Key) matches(user, server string) bool {
	return (user == "" || k.User == user) && (server == "" || k.Server == server)
}

// decisionFile is the content of a file.
type decisionFile struct {
	Key    Key    `json:"key"`
	Allow  bool   `json:"allow"`
	Reason string `json:"reason,omitempty"`
}

func (f *decisionFile) decision() Decision {
	return Decision{Allow: f.Allow, Reason: f.Reason, Remember: f.Key.Scope}
}

const (
	decisionSuffix  = ".decision.json"
	maxDecisionFile = 64 << 10 // bytes
)

func (s *Files) path(key Key) (string, error) {
	raw, err := json.Marshal(key)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(raw)
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+decisionSuffix), nil
}

// Recall implements [Store].
func (s *Files) Recall(_ context.Context, key Key) (Decision, bool, error) {
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
	return f.decision(), true, nil
}

func readDecision(path string) (f decisionFile, err error) {
	raw, err := private.ReadFile(path, maxDecisionFile, 0o022)
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return f, fmt.Errorf("%s: %w: remove it", path, err)
	}
	return f, nil
}

// Remember implements [Store].
func (s *Files) Remember(_ context.Context, key Key, d Decision) error {
	if err := s.remember(key, d); err != nil {
		return fmt.Errorf("remember a decision: %w", err)
	}
	return nil
}

func (s *Files) remember(key Key, d Decision) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(decisionFile{Key: key, Allow: d.Allow, Reason: excerpt.CutAt(d.Reason, 1024)})
	if err != nil {
		return err
	}
	if len(raw) > maxDecisionFile {
		return fmt.Errorf("%d bytes: want at most %d", len(raw), maxDecisionFile)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err != nil {
		all, err := s.files()
		if err != nil {
			return err
		}
		private.Sweep(s.dir)
		if len(all) >= maxDecisions {
			return errFull
		}
	}
	return private.WriteFile(path, raw)
}

// files returns the paths of all decisions.
func (s *Files) files() ([]string, error) {
	err := private.CheckDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
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

// Kept is a stored decision.
type Kept struct {
	Key      Key
	Decision Decision
	Since    time.Time // when it was stored
}

// List returns the stored decisions, the oldest first. It leaves out files that cannot be read,
// because they decide nothing.
func (s *Files) List(context.Context) ([]Kept, error) {
	all, err := s.files()
	if err != nil {
		return nil, fmt.Errorf("list decisions: %w", err)
	}
	var kept []Kept
	for _, path := range all {
		f, err := readDecision(path)
		if err != nil {
			continue
		}
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		kept = append(kept, Kept{Key: f.Key, Decision: f.decision(), Since: info.ModTime()})
	}
	slices.SortStableFunc(kept, func(a, b Kept) int { return a.Since.Compare(b.Since) })
	return kept, nil
}

// Drop removes one decision, if it is stored.
func (s *Files) Drop(ctx context.Context, key Key) error {
	if err := s.drop(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("drop a decision: %w", err)
	}
	return nil
}

func (s *Files) drop(key Key) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	if err := private.CheckDir(s.dir); err != nil {
		return err
	}
	return private.Remove(path)
}

// Forget implements [Store]. It also removes files that cannot be read.
func (s *Files) Forget(_ context.Context, user, server string) error {
	all, err := s.files()
	if err != nil {
		return fmt.Errorf("forget decisions: %w", err)
	}
	var errs []error
	for _, path := range all {
		f, err := readDecision(path)
		if err == nil && !f.Key.matches(user, server) {
			continue
		}
		if err := private.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("forget decisions: %w", err))
		}
	}
	return errors.Join(errs...)
}
