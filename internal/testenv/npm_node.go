package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// findNode returns the machine's Node.js if the set accepts it, else the set's own.
func (s *NPM) findNode(ctx context.Context) (string, error) {
	oldest, err := s.oldestNode()
	if err != nil {
		return "", err
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return "", err
	}
	own, err := filepath.Glob(s.Module("node-*/bin/node*"))
	if err != nil {
		return "", err
	}
	var seen []string
	for _, node := range append([]string{node}, own...) {
		major, err := majorVersion(ctx, node)
		if err == nil && major >= oldest {
			return node, nil
		}
		seen = append(seen, fmt.Sprintf("%s has version %d (%v)", node, major, err))
	}
	return "", fmt.Errorf("no Node.js %d or newer: %s", oldest, strings.Join(seen, ", "))
}

// oldestNode returns the least major version that the set needs, 0 for any.
func (s *NPM) oldestNode() (int, error) {
	data, err := os.ReadFile(s.Path("package.json"))
	if err != nil {
		return 0, err
	}
	var p struct {
		Engines struct{ Node string }
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return 0, fmt.Errorf("package.json: %w", err)
	}
	if p.Engines.Node == "" {
		return 0, nil
	}
	major, err := strconv.Atoi(strings.TrimPrefix(p.Engines.Node, ">="))
	if err != nil {
		return 0, fmt.Errorf("package.json: engines.node is %q, want a major version as in \">=22\"", p.Engines.Node)
	}
	return major, nil
}

func majorVersion(ctx context.Context, node string) (int, error) {
	out, err := exec.CommandContext(ctx, node, "-p", "process.versions.node").Output()
	if err != nil {
		return 0, err
	}
	text, _, _ := strings.Cut(string(out), ".")
	return strconv.Atoi(text)
}
