package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/private"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// askTrust returns the content of the project's file if the person allows it, otherwise nil. The person is not asked again
// as long as the file and its environment files do not change, nor about a file without servers. A file that is too long
// to be shown is not used. It is an error if the person would have to be asked and is not there.
func (p *Places) askTrust(ctx context.Context, s screen.Screen, data []byte) (*content, error) {
	c, err := readContent(ctx, p.Project, data)
	if err != nil {
		return nil, err
	}
	servers, err := config.ParsePreview(p.Project, data)
	if err != nil {
		return nil, err
	}
	shown := preview(servers, c)
	if shown == "" {
		return c, nil
	}
	path, err := filepath.Abs(p.Project)
	if err != nil {
		return nil, err
	}
	wasAllowed, same := p.isTrusted(path, c)
	if same {
		return c, nil
	}
	if !s.Attended() {
		return nil, fmt.Errorf("%s names servers that you have not allowed yet, and there is no terminal to ask on: "+
			"give -config %s to use them, or -config none", p.Project, p.Project)
	}
	if utf8.RuneCountInString(shown) > screen.MaxShown || strings.Count(shown, "\n") >= maxLines {
		s.Note(screen.Warn, "The file %s names more than can be shown here. "+
			"Read it, and start with -config %s to use it.", hosttext.Line(path, maxPath), p.Project)
		return nil, nil
	}
	key, err := s.Choose(ctx, trustChoice(path, shown, wasAllowed))
	if err != nil || key == 'n' {
		return nil, err
	}
	if key == 'y' {
		err = p.saveTrust(path, c)
	}
	return c, err
}

// trustChoice returns the question about a file. preview describes the servers that it names.
func trustChoice(path, preview string, wasAllowed bool) *screen.Choice {
	heading := "The file %s belongs to this folder. It names:"
	if wasAllowed {
		heading = "The file %s, or a file that it names, has changed since you allowed it. It names:"
	}
	return &screen.Choice{
		Heading:  fmt.Sprintf(heading, hosttext.Line(path, maxPath)),
		Text:     hosttext.Indent(preview),
		Question: "Use these servers? A program that is started can do whatever you can.",
		Answers: []screen.Answer{
			{Key: 'y', Label: "yes, as long as the file stays as it is"},
			{Key: 'o', Label: "once"},
			{Key: 'n', Label: "no"},
		},
	}
}

// maxLines bounds the lines of the question: a person who sees only a part cannot allow the file.
const maxLines = 100

// trust is a kept decision.
type trust struct {
	File        string `json:"file"`
	Fingerprint string `json:"sha256"`
}

// Bounds and permissions of the file of a decision.
const (
	maxTrust      = 64 << 10 // bytes
	othersMayEdit = 0o022    // bits that the file must not have: its content would not be the person's decision
)

// isTrusted reports whether a file was allowed before, and whether its content is still the same.
func (p *Places) isTrusted(path string, c *content) (wasAllowed, same bool) {
	if p.Trust == "" {
		return false, false
	}
	raw, err := private.ReadFile(p.trustFile(path), maxTrust, othersMayEdit)
	var t trust
	if err != nil || json.Unmarshal(raw, &t) != nil || t.File != path {
		return false, false
	}
	return true, t.Fingerprint == c.fingerprint()
}

// saveTrust keeps the decision to allow the content of a file.
func (p *Places) saveTrust(path string, c *content) error {
	if p.Trust == "" {
		return nil
	}
	if err := os.MkdirAll(p.Trust, 0o700); err != nil {
		return fmt.Errorf("keep the trust in %s: %w", path, err)
	}
	raw, err := json.Marshal(trust{path, c.fingerprint()})
	if err == nil {
		err = private.CheckDir(p.Trust)
	}
	if err == nil {
		err = private.WriteFile(p.trustFile(path), raw)
	}
	if err != nil {
		return fmt.Errorf("keep the trust in %s: %w", path, err)
	}
	return nil
}

// trustFile returns the path of the kept decision on a file.
func (p *Places) trustFile(path string) string {
	return filepath.Join(p.Trust, fingerprint([]byte(path))[:32]+".json")
}
