package talk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Bounds of what a question takes by mentions, such as @file.
const (
	maxAttachments  = 20
	maxAttachedText = 100 << 10 // bytes; a longer text is cut
	maxPicture      = 5 << 20   // bytes
)

// mention matches an @ with a name.
var mention = regexp.MustCompile(`(?:^|[\s(])@(?:"([^"\n]+)"|([^\s"]+))`)

// mentions returns the names in a text that follow an @, without duplicates.
func mentions(text string) (names []string) {
	for _, m := range mention.FindAllStringSubmatch(text, -1) {
		if name := m[1] + m[2]; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// attachments finds the resources and files that a question mentions.
type attachments struct {
	screen screen.Screen
	offers *offers
}

// message returns the message of a question, with the resources and files that it mentions, at most maxAttachments. A name
// that is neither stays text, with a note if it looks like a path or URI; a punctuation mark at its end may belong to the
// sentence. Only a person at a screen can attach files: the text of a script may come from somebody else.
func (a *attachments) message(ctx context.Context, question string) (run.Message, error) {
	message := run.Text(run.RoleUser, question)
	if !a.screen.Attended() {
		return message, nil
	}
	for _, name := range mentions(question) {
		parts, err := a.find(ctx, name)
		short := strings.TrimRight(name, ".,;:!?)")
		if errors.Is(err, errNotFound) && short != name {
			parts, err = a.find(ctx, short)
		}
		switch {
		case errors.Is(err, errNotFound) && strings.ContainsAny(short, "./:"):
			a.screen.Note(screen.Warn, "not attached: @%s: %v", hosttext.Line(short, 200), err)
		case err != nil && !errors.Is(err, errNotFound):
			return message, fmt.Errorf("@%s: %w", hosttext.Line(name, 200), err)
		}
		if message.Parts = append(message.Parts, parts...); len(message.Parts) > 1+maxAttachments {
			return message, fmt.Errorf("a question takes at most %d files and resources", maxAttachments)
		}
	}
	return message, nil
}

// errNotFound is the error of a name without a file or resource.
var errNotFound = errors.New("not a file, or SERVER:URI of a resource")

// find returns the content of a resource or file, nil if the person does not give it. The error is errNotFound
// if there is none of that name. If several names of servers fit, the longest one is meant.
func (a *attachments) find(ctx context.Context, name string) ([]run.Part, error) {
	var owner *adapter.ServerStatus
	servers := a.offers.servers(&resources)
	for i, server := range servers {
		uri, ok := strings.CutPrefix(name, server.Name+":")
		if ok && strings.Contains(uri, ":") && (owner == nil || len(server.Name) > len(owner.Name)) {
			owner = &servers[i]
		}
	}
	if owner != nil {
		return a.attachResource(ctx, owner, name[len(owner.Name)+1:])
	}
	path := expandHome(name)
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errNotFound
	}
	if ok, err := a.mayAttach(ctx, name, path); !ok {
		return nil, err
	}
	return a.attachFile(name, path)
}

// expandHome replaces a leading ~ by the home folder.
func expandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if dir, err := os.UserHomeDir(); err == nil {
			return filepath.Join(dir, rest)
		}
	}
	return path
}

// mayAttach asks about a file that is hidden or outside of the folder: a pasted text may name it.
func (a *attachments) mayAttach(ctx context.Context, name, path string) (bool, error) {
	if isInside(path) {
		return true, nil
	}
	key, err := a.screen.Choose(ctx, &screen.Choice{
		Heading:  "The question names a file that is hidden or outside of this folder:",
		Text:     hosttext.Line(name, 1000),
		Question: "Give it to the model?",
		Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}},
	})
	return key == 'y', err
}

// isInside reports whether a file is in the working folder, by a path without hidden parts.
func isInside(path string) bool {
	folder, err := realPath(".")
	if err != nil {
		return false
	}
	if path, err = realPath(path); err != nil {
		return false
	}
	inside, err := filepath.Rel(folder, path)
	if err != nil || !filepath.IsLocal(inside) {
		return false
	}
	return !strings.HasPrefix(inside, ".") && !strings.Contains(inside, string(filepath.Separator)+".")
}

// realPath returns the absolute path of a file, without symbolic links.
func realPath(path string) (string, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// attachFile returns the content of a file, and tells the person.
func (a *attachments) attachFile(name, path string) ([]run.Part, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("The file %s, which the user attached", hosttext.Quote(name))
	part, err := makePart(title, http.DetectContentType(data), data)
	if err != nil {
		return nil, err
	}
	a.noteAttached(name, part, len(data))
	return []run.Part{part}, nil
}

// attachResource returns the contents of a resource, and tells the person.
func (a *attachments) attachResource(ctx context.Context, server *adapter.ServerStatus, uri string) ([]run.Part, error) {
	result, err := server.Client.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("The resource %s of the server %s, which the user attached",
		hosttext.Quote(uri), hosttext.Quote(server.Name))
	var parts []run.Part
	for _, c := range result.Contents {
		data, kind := c.Blob, c.MIMEType
		if c.Blob == nil {
			data, kind = []byte(c.Text), "text/plain"
		}
		part, err := makePart(title, kind, data)
		if err != nil {
			return nil, err
		}
		a.noteAttached(server.Name+":"+uri, part, len(data))
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return nil, errors.New("the resource is empty")
	}
	return parts, nil
}

// noteAttached tells the person what was attached, and how much of its size in bytes.
func (a *attachments) noteAttached(name string, part run.Part, size int) {
	note := formatSize(int64(size))
	if part.Type == run.PartText && size > maxAttachedText {
		note = "the first " + formatSize(maxAttachedText)
	}
	a.screen.Note(screen.Faint, "attached: %s, %s", hosttext.Line(name, 200), note)
}

// makePart returns a file or a resource as a part of a message: a picture, or a text with a title,
// within a code fence that the text cannot end.
func makePart(title, kind string, data []byte) (run.Part, error) {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		if len(data) > maxPicture {
			return run.Part{}, fmt.Errorf("the picture has more than %s", formatSize(maxPicture))
		}
		return run.Part{Type: run.PartImage, MIMEType: kind, Data: data}, nil
	}
	if len(data) > maxAttachedText {
		data = data[:excerpt.Before(string(data), maxAttachedText)]
		title += ", cut after " + formatSize(maxAttachedText)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return run.Part{}, errors.New("neither a text nor a picture (PNG, JPEG, GIF, WebP)")
	}
	text := screen.CleanInput(string(data))
	return run.Part{Type: run.PartText, Text: fmt.Sprintf("\n\n%s:\n%s", title, fenced(text))}, nil
}

// questionText returns the question of a message without its attachments.
func questionText(m run.Message) string {
	if len(m.Parts) > 0 && m.Parts[0].Type == run.PartText {
		return m.Parts[0].Text
	}
	return m.Text()
}

// fenced returns a text within a code fence that it cannot end.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}
