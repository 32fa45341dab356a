package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
)

// state scores the share of the claims about files that hold. It is an error if the directory is gone.
func state(want []suite.State, dir string) (results.Score, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return results.Score{}, err
	}
	defer root.Close()
	var c claims
	for _, s := range want {
		why := claimIn(root, s)
		c.add(why == "", "%s: %s", s.File, why)
	}
	return c.score("state"), nil
}

// claimIn returns why a claim about a file does not hold, "" if it holds. If the agent has replaced
// the file, for example by a directory, the claim does not hold either.
func claimIn(root *os.Root, s suite.State) string {
	_, err := root.Lstat(s.File)
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	switch {
	case s.Absent && missing:
		return ""
	case s.Absent:
		return "it exists"
	case missing:
		return "it does not exist"
	}
	data, err := root.ReadFile(s.File)
	if err != nil {
		return err.Error()
	}
	return contentMistake(s, data)
}

// contentMistake returns why a claim about the content of a file does not hold, "" if it holds.
func contentMistake(s suite.State, data []byte) string {
	if s.Text != nil && string(data) != *s.Text {
		return fmt.Sprintf("it has %.200q, want %.200q", data, *s.Text)
	}
	if s.Match != "" {
		if ok, err := regexp.Match(s.Match, data); !ok || err != nil {
			return fmt.Sprintf("%.200q does not match %q", data, s.Match)
		}
	}
	if s.Pointer == nil {
		return ""
	}
	var got, want any
	if err := json.Unmarshal(data, &got); err != nil {
		return err.Error()
	}
	if err := json.Unmarshal(s.Equals, &want); err != nil {
		return err.Error()
	}
	got, ok := resolvePointer(got, *s.Pointer)
	if !ok || !reflect.DeepEqual(got, want) {
		found, _ := json.Marshal(got) // decoded JSON always marshals
		return fmt.Sprintf("%s has %.200s, want %s", *s.Pointer, found, s.Equals)
	}
	return ""
}

// resolvePointer returns the value at a JSON pointer in decoded JSON, and reports false if there is none.
func resolvePointer(v any, pointer string) (any, bool) {
	if pointer == "" {
		return v, true
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch x := v.(type) {
		case map[string]any:
			member, ok := x[name]
			if !ok {
				return nil, false
			}
			v = member
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(x) {
				return nil, false
			}
			v = x[i]
		default:
			return nil, false
		}
	}
	return v, true
}
