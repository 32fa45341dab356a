package grade

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"syscall"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/kept"
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
	if !json.Valid(data) {
		return "it is not JSON"
	}
	if found, same := valueAt(data, *s.Pointer, s.Equals); !same {
		return fmt.Sprintf("%s has %.200s, want %s", *s.Pointer, found, s.Equals)
	}
	return ""
}

// valueAt returns the JSON at a pointer in JSON, and reports whether it has the wanted value.
func valueAt(data []byte, pointer string, wanted json.RawMessage) (found []byte, same bool) {
	found, err := kept.Value(data, pointer)
	var got, want any
	if err != nil || json.Unmarshal(found, &got) != nil || json.Unmarshal(wanted, &want) != nil {
		return found, false
	}
	return found, reflect.DeepEqual(got, want)
}
