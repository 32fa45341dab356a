package talk

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// Completions may run during a turn, and during a command that changes the servers.
func TestCompletionBesideATurn(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	ui := typist.Absent(t)
	you := person.New(ui, false, nil, &person.Failures{})
	servers := &Servers{}
	servers.Authorize(you, ui)
	check.Must(t, servers.Configure(you, nil, ui, mcpclient.Timeouts{}))
	s := newSession(Config{Screen: ui, Servers: servers})
	var turn sync.WaitGroup
	turn.Go(func() {
		for i := range 2 * maxResults {
			s.results.add(result{tool: fmt.Sprint("tool", i)})
			check.NoError(t, servers.replaceEntry(ui, &config.Server{Name: fmt.Sprint("s", i%3), Transport: &mcpclient.HTTP{URL: "https://a.test/"}}))
		}
	})
	commands := map[string]int{"/show ": maxResults, "/login ": 3, "/servers restart ": 3}
	for range 2 * maxResults {
		for command := range commands {
			s.complete(t.Context(), command)
		}
	}
	turn.Wait()
	for command, want := range commands {
		c := s.complete(t.Context(), command)
		if len(c.Items) != want || c.From != len(command) {
			t.Errorf("%s: got %d items from %d on, want %d", command, len(c.Items), c.From, want)
		}
	}
	check.Equal(t, "the newest result", s.complete(t.Context(), "/show ").Items[0], (screen.Item{Text: "1", About: "tool99:"}))
	check.Contains(t, "how the server is reached", s.complete(t.Context(), "/servers restart ").Items[0].About, "https://a.test/")
}

// A name with characters that cannot be typed or seen is not offered.
func TestOffered(t *testing.T) {
	for name, want := range map[string]int{
		"plain name": 1, "größe": 1, "": 0, "a\x1b[2J": 0, "a\nb": 0, "a\u202eb": 0, "a\u200bb": 0, strings.Repeat("x", maxItemText): 1, strings.Repeat("x", maxItemText+1): 0,
	} {
		check.Equal(t, name, len(addItem(nil, name, "about", false)), want)
	}
	if got := addItem(nil, "a", "b\x1b[2J\nc", true)[0]; got.About != `b\x1b[2J c` || !got.Open {
		t.Errorf("got %+v", got)
	}
}
