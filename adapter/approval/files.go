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

// Files is a [Store] that keeps each decision in a file of its own, all in one directory. Any
// number of toolsets and processes may share it. Remember refuses a new decision if the directory
// has 10,000, and a key that is not valid UTF-8.
//
// Whoever can write to the directory can allow calls. So Files creates the directory (mode 0700)
// and the files (mode 0600) for their owner only. It refuses symbolic links and, on Unix,
// directories and files that belong to another user or that others can write to.
type Files struct{ dir string }

// NewFiles returns the store in a directory. The first Remember creates the directory.
func NewFiles(dir string) *Files { return &Files{dir} }

// decisionFile is the content of a file.
type decisionFile struct {
	Key    Key    `json:"key"`
	Allow  bool   `json:"allow"`
	Reason string `json:"reason,omitempty"`
}

const (
	decisionSuffix  = ".decision.json"
	maxDecisionFile = 64 << 10 // bytes
)

// path returns the path of the file of a key. JSON replaces bytes that are not UTF-8, so such a key
// would have the file of another one.
func (s *Files) path(key Key) (string, error) {
	raw, err := json.Marshal(key)
	if err != nil {
		return "", err
	}
	var read Key
	if err := json.Unmarshal(raw, &read); err != nil {
		return "", err
	}
	if read != key {
		return "", errors.New("key is not valid UTF-8")
	}
	sum := sha256.Sum256(raw)
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+decisionSuffix), nil
}

// annotate puts the operation in front of its error, if there is one.
func annotate(operation string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", operation, *err)
	}
}

// Recall implements [Store].
func (s *Files) Recall(ctx context.Context, key Key) (d Decision, found bool, err error) {
	defer annotate("recall a decision", &err)
	path, err := s.path(key)
	if err != nil {
		return Decision{}, false, err
	}
	kept, err := s.stored(path)
	if err != nil {
		return Decision{}, false, ignoreMissing(err)
	}
	return kept.Decision, true, nil
}

// Remember implements [Store].
func (s *Files) Remember(ctx context.Context, key Key, d Decision) (err error) {
	defer annotate("remember a decision", &err)
	path, err := s.path(key)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(decisionFile{Key: key, Allow: d.Allow, Reason: excerpt.Cut(d.Reason)})
	if err != nil {
		return err
	}
	if len(raw) > maxDecisionFile {
		return fmt.Errorf("a decision of %d bytes: want at most %d", len(raw), maxDecisionFile)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := s.makeRoom(path); err != nil {
		return err
	}
	return private.WriteFile(path, raw)
}

// makeRoom removes abandoned files unless path exists. The error says that there are too many
// decisions for another file.
func (s *Files) makeRoom(path string) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	paths, err := s.paths()
	if err != nil {
		return err
	}
	private.Sweep(s.dir)
	if len(paths) >= maxDecisions {
		return errFull
	}
	return nil
}

// paths returns the paths of all decisions.
func (s *Files) paths() ([]string, error) {
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
	var paths []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), decisionSuffix) {
			paths = append(paths, filepath.Join(s.dir, e.Name()))
		}
	}
	return paths, nil
}

// StoredDecision is a decision in a store.
type StoredDecision struct {
	Key      Key
	Decision Decision
	Stored   time.Time
}

// List returns the stored decisions, the oldest first. It leaves out files that decide nothing:
// malformed ones, and those that belong to another name.
func (s *Files) List(ctx context.Context) (all []StoredDecision, err error) {
	defer annotate("list decisions", &err)
	paths, err := s.paths()
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		d, err := s.stored(path)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b StoredDecision) int { return a.Stored.Compare(b.Stored) })
	return all, nil
}

// stored returns the decision in a file. The error for a file that decides nothing is a [*private.UnusableError], and for a
// missing one [fs.ErrNotExist].
func (s *Files) stored(path string) (d StoredDecision, err error) {
	raw, err := private.ReadFile(path, maxDecisionFile, 0o022)
	if err != nil {
		return d, err
	}
	var f decisionFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return d, &private.UnusableError{Reason: fmt.Sprintf("%s: %v: remove it", path, err)}
	}
	if own, err := s.path(f.Key); err != nil || own != path {
		return d, &private.UnusableError{Reason: path + " is about another call: remove it"}
	}
	info, err := os.Lstat(path)
	if err != nil {
		return d, err
	}
	return StoredDecision{f.Key, Decision{Allow: f.Allow, Reason: f.Reason, Remember: f.Key.Scope}, info.ModTime()}, nil
}

// isGone reports whether a file that could not be read decides nothing, now and later. After other
// errors, for example if too many files are open, it may decide something.
func isGone(err error) bool {
	_, unusable := errors.AsType[*private.UnusableError](err)
	return unusable || errors.Is(err, fs.ErrNotExist)
}

// Drop forgets one decision, if it is stored.
func (s *Files) Drop(ctx context.Context, key Key) (err error) {
	defer annotate("drop a decision", &err)
	path, err := s.path(key)
	if err != nil {
		return err
	}
	if err := private.CheckDir(s.dir); err != nil {
		return ignoreMissing(err)
	}
	return ignoreMissing(private.Remove(path))
}

// ignoreMissing returns nil for the error of a file that does not exist, and other errors as they are.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Forget implements [Store]. It also removes files that decide nothing. If a file cannot be read for another reason,
// Forget keeps it and reports it in the error, unless it forgets the decisions of all users and servers.
func (s *Files) Forget(ctx context.Context, user, server string) (err error) {
	defer annotate("forget decisions", &err)
	paths, err := s.paths()
	if err != nil {
		return err
	}
	everything := user == "" && server == ""
	var errs []error
	for _, path := range paths {
		d, err := s.stored(path)
		switch {
		case everything || isGone(err) || err == nil && d.Key.matches(user, server):
			errs = append(errs, ignoreMissing(private.Remove(path)))
		case err != nil:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
