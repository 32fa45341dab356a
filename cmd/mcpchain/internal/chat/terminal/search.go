package terminal

import (
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// search is an incremental search in the history.
type search struct {
	active bool
	text   string // searched for
	index  int    // index of the entry that is shown; len(entries) is none
	draft  string // the text of the editor before the search
}

// begin starts a search. draft is the text of the editor.
func (s *search) begin(h *history, draft string) {
	*s = search{active: true, index: len(h.entries), draft: draft}
}

// find returns the newest entry before an index that contains the text in any case.
func (s *search) find(h *history, before int) (string, bool) {
	for i := min(before, len(h.entries)) - 1; i >= 0; i-- {
		if strings.Contains(strings.ToLower(h.entries[i]), strings.ToLower(s.text)) {
			s.index = i
			return h.entries[i], true
		}
	}
	return "", false
}

// handleKey handles a key during a search. It returns the text that the editor has to show, nil if
// that does not change, and false for a key that ends the search and is for the editor.
func (s *search) handleKey(h *history, k tea.KeyPressMsg) (show *string, handled bool) {
	found := func(text string, ok bool) (*string, bool) {
		if !ok {
			return nil, true
		}
		return &text, true
	}
	switch name := k.String(); {
	case name == "ctrl+r":
		return found(s.find(h, s.index))
	case name == "enter":
		s.active = false
		return nil, true
	case name == "esc", name == "ctrl+g": // editor.clear does the same for Ctrl-C
		s.active = false
		return &s.draft, true
	case name == "backspace":
		_, size := utf8.DecodeLastRuneInString(s.text)
		s.text = s.text[:len(s.text)-size]
		return found(s.find(h, len(h.entries)))
	case k.Text != "":
		s.text += screen.CleanInput(k.Text)
		return found(s.find(h, s.index+1))
	}
	s.active = false
	return nil, false
}

// view returns the row of a search that is on.
func (s *search) view(paint screen.Paint) []string {
	if !s.active {
		return nil
	}
	row := "      search: " + hosttext.Line(s.text, 60) + "  (Ctrl-R older · Enter takes it · Esc leaves)"
	return []string{paint.Text(screen.Faint, row)}
}
