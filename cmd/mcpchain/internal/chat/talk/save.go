package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// save is the command /save: it writes the conversation to a new file.
func (c *conversation) save(_ context.Context, name string) error {
	if len(c.history) == 0 {
		return errors.New("there is nothing to save")
	}
	if name == "" {
		name = "conversation-" + c.name + ".md"
	}
	var text []byte
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json":
		raw, err := json.MarshalIndent(map[string]any{"model": c.model.Name(), "messages": c.history}, "", "  ")
		if err != nil {
			return err
		}
		text = append(raw, '\n')
	case ".md", ".markdown":
		text = []byte(renderMarkdown(c.history))
	default:
		return errors.New("want a file that ends with .md or .json")
	}
	err := writeNew(expandHome(name), text)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; give another name", hosttext.Line(name, 200))
	}
	if err != nil {
		return err
	}
	c.screen.Note(screen.Faint, "saved: %s, %s", hosttext.Line(name, 200), formatSize(int64(len(text))))
	return nil
}

// writeNew writes a file that does not exist yet. If it cannot write all of it, there is none.
func writeNew(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// completeSavePath completes the argument of /save.
func completeSavePath(_ context.Context, typed string) screen.Completion {
	return screen.Completion{Items: fileCompletions(typed)}
}

// renderMarkdown returns a conversation as Markdown, without characters that control a terminal.
func renderMarkdown(history []run.Message) string {
	var b strings.Builder
	for _, m := range history {
		switch m.Role {
		case run.RoleUser:
			b.WriteString("## You\n\n")
		case run.RoleAssistant:
			b.WriteString("## Model\n\n")
		}
		for _, p := range m.Parts {
			if text := markdownPart(p); text != "" {
				b.WriteString(hosttext.Prose(strings.Trim(text, "\n")) + "\n\n")
			}
		}
	}
	return b.String()
}

// markdownPart returns a part of a message as Markdown, "" for other parts.
func markdownPart(p run.Part) string {
	switch p.Type {
	case run.PartText, run.PartSummary:
		return p.Text
	case run.PartReasoning:
		return "> " + strings.ReplaceAll(strings.Trim(p.Text, "\n"), "\n", "\n> ")
	case run.PartCall:
		return fmt.Sprintf("**Call** %s\n\n%s", p.Name, fenced("json", p.Arguments))
	case run.PartResult:
		word := "Result"
		if p.IsError {
			word = "Failure"
		}
		text := fmt.Sprintf("**%s** of %s\n\n%s", word, p.Name, fenced("", p.Text))
		for _, media := range p.Media {
			text += fmt.Sprintf("\n\n(%s, %s)", media.MIMEType, formatSize(int64(len(media.Data))))
		}
		return text
	case run.PartImage, run.PartAudio, run.PartFile:
		return fmt.Sprintf("(%s, %s)", p.MIMEType, formatSize(int64(len(p.Data))))
	}
	return ""
}

// fenced returns a text within a code fence that it cannot end.
func fenced(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}
