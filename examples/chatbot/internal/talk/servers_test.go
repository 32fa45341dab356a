package talk

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/person"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/screen"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/typist"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

func TestWarnings(t *testing.T) {
	s := typist.New(t)
	log := warnings(s, "loud")
	log.Info("not shown")
	for range maxWarnings + 5 {
		log.Warn("odd", "text", "a\x1b[31m\nb")
	}
	want := strings.Repeat(`warning: msg=odd server=loud text="a\x1b[31m\nb"`+"\n", maxWarnings) + "warning: more of this is not shown\n"
	s.Check(t, want)
}

// linked is a screen with links.
type linked struct{ *typist.Screen }

func (linked) Link(screen.Style, string, string) {}
func (linked) Suggest(string) bool               { return false }

// Servers learn that views are shown, if they are.
func TestViewsAreDeclared(t *testing.T) {
	for _, s := range []screen.Screen{linked{typist.New(t)}, typist.New(t), typist.Absent(t)} {
		servers := &Servers{Good: []adapter.Server{{Name: "a"}}}
		if err := servers.Serve(person.New(s, false, nil, &person.Lacks{}), nil, s, 0, 0); err != nil {
			t.Fatal(err)
		}
		_, shows := s.(linked)
		if got := strings.Contains(string(servers.Good[0].Options.Protocol.Capabilities), apps.Extension); got != shows {
			t.Errorf("%T: declared: got %v, want %v", s, got, shows)
		}
	}
}
