package talk

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/wrap"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

const (
	defaultPageRows = 20      // if the size of the screen is not known
	minPageRows     = 4       // even on a smaller screen
	otherRows       = 6       // of the screen, for the question and what is around it
	maxPageLine     = 4 << 10 // bytes; a longer line is shown in parts
)

// page shows a text page by page, as long as the person wants to see more.
func page(ctx context.Context, ui screen.Screen, style screen.Style, text string) error {
	columns, rows := 0, defaultPageRows
	if sized, ok := ui.(screen.Sized); ok {
		if width, height := sized.Size(); height > 0 {
			columns, rows = width, max(minPageRows, height-otherRows)
		}
	}
	for rest := text; rest != ""; {
		var lines []string
		for len(lines) < rows && rest != "" {
			var line string
			line, rest = nextLine(rest)
			lines = append(lines, wrap.Note(screen.Indent(line), columns)...)
		}
		ui.Note(style, "%s", strings.Join(lines, "\n"))
		if rest == "" {
			break
		}
		key, err := ui.Choose(ctx, &screen.Choice{
			Question: fmt.Sprintf("%d%% of it.", 100*(len(text)-len(rest))/len(text)),
			Answers:  []screen.Answer{{Key: 'm', Label: "more"}, {Key: 'q', Label: "quit"}},
		})
		if err != nil || key == 'q' {
			return err
		}
	}
	return nil
}

// nextLine cuts the first line from a text, or the first maxPageLine bytes of a longer line.
func nextLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	if len(line) <= maxPageLine {
		return strings.TrimSuffix(line, "\r"), rest
	}
	end := excerpt.Before(text, maxPageLine)
	return text[:end], text[end:]
}

// indentJSON indents JSON objects and arrays. It returns other texts unchanged, and JSON that would
// be mostly indentation.
func indentJSON(text string) string {
	trimmed := strings.TrimSpace(text)
	if !strings.HasPrefix(trimmed, "{") && !strings.HasPrefix(trimmed, "[") {
		return text
	}
	if indented, ok := excerpt.Indent(trimmed); ok {
		return indented
	}
	return text
}
