package talk

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// keep stores a conversation. Older programs did not store its folder, which is then "".
func keep(t *testing.T, store record.Store, id, folder string, at time.Time) {
	t.Helper()
	begun := &ledger.Begun{ID: id, Agent: ledger.AgentName{Name: agentName}, Messages: []run.Message{run.Text(run.RoleUser, "about "+id)}}
	if folder != "" {
		begun.Vars = map[string]json.RawMessage{folderVar: json.RawMessage(strconv.Quote(folder))}
	}
	ledgertest.Keep(t, store, ledgertest.Since(at, begun))
}

// The newest conversation of the folder is continued.
func TestNewestOfTheFolder(t *testing.T) {
	const strange = "/b\u202e\nc"
	store := record.NewMemory()
	begin := time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)
	for i, c := range []struct{ id, folder string }{{"old", ""}, {"here", "/a"}, {"older", ""}, {"there", strange}} {
		keep(t, store, c.id, c.folder, begin.Add(time.Duration(i)*time.Minute))
	}
	for folder, want := range map[string]string{"/a": "here", strange: "there"} {
		screen := typist.New(t)
		a := &archive{screen: screen, store: store, folder: folder}
		head, err := a.newestOfFolder(t.Context())
		check.That(t, err == nil && head.Key.ID == want, "%s: got %v, %v, want %s", folder, head.Key, err, want)
		check.NoError(t, a.list(t.Context(), ""))
		for _, row := range []struct{ id, folder string }{{"old", ""}, {"here", "/a"}, {"older", ""}, {"there", strange}} {
			line := "about " + row.id + "\n"
			switch row.folder {
			case "":
			case folder:
				line = "about " + row.id + " (in this folder)\n"
			default:
				line = "about " + row.id + " (in " + strings.NewReplacer("\u202e", `\u202e`, "\n", " ").Replace(row.folder) + ")\n"
			}
			check.Contains(t, folder, screen.Text(), line)
		}
	}
}

// A conversation of another folder is not continued, and the search is bounded.
func TestNoConversationOfTheFolder(t *testing.T) {
	store := record.NewMemory()
	begin := time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)
	for i := range maxSearched {
		keep(t, store, newName(), "/other", begin.Add(time.Duration(i)*time.Minute))
	}
	a := &archive{screen: typist.New(t), store: store, folder: "/a"}
	for _, at := range []time.Duration{0, -time.Minute} {
		if at < 0 {
			keep(t, store, "too old", "/a", begin.Add(at))
		}
		check.Text(t, check.Err(a.newestOfFolder(t.Context())), "no conversation of this folder")
	}
	keep(t, store, "mine", "/a", begin.Add(time.Second))
	head, err := a.newestOfFolder(t.Context())
	check.That(t, err == nil && head.Key.ID == "mine", "got %v, %v, want the one within the bound", head.Key, err)
}

// TestNumbersOfAList resumes by the list that the person has seen, though another conversation became the newest.
func TestNumbersOfAList(t *testing.T) {
	store := record.NewMemory()
	begin := time.Date(2030, 1, 2, 3, 4, 0, 0, time.UTC)
	keep(t, store, "first", "/a", begin)
	a := &archive{screen: typist.New(t), store: store, folder: "/a"}
	want := func(id string) {
		t.Helper()
		head, err := a.find(t.Context(), "1")
		check.That(t, err == nil && head.Key.ID == id, "number 1: got %v, %v, want %s", head.Key, err, id)
	}
	want("first") // without a list
	check.Must(t, a.list(t.Context(), ""))
	keep(t, store, "second", "/a", begin.Add(time.Minute))
	want("first")
	check.Must(t, a.list(t.Context(), ""))
	want("second")
}

// full is a store that takes no new run while it is full.
type full struct {
	record.Store
	full bool
}

func (s *full) Create(ctx context.Context, by record.Holder, head run.Head, records []run.Record) (record.Lease, error) {
	if s.full {
		return record.Lease{}, syscall.ENOSPC
	}
	return s.Store.Create(ctx, by, head, records)
}

// What came before a turn that could not begin is not lost to the model.
func TestTurnThatCannotBegin(t *testing.T) {
	store := &full{Store: record.NewMemory(), full: true}
	model := agenttest.Play(agenttest.Say("fine"))
	s := newSession(Config{Screen: typist.New(t), Store: store, Person: &person.Person{}, Servers: &Servers{}})
	s.conversation.agent = check.Value(agent.New(model, &agent.Options{Name: agentName, Durable: agent.Durable{Store: store}}))(t)
	s.conversation.branch([]run.Message{run.Text(run.RoleUser, "first"), run.Text(run.RoleAssistant, "yes")})
	check.Is(t, s.askModel(t.Context(), run.Text(run.RoleUser, "second")), ErrReported)
	store.full = false
	check.NoError(t, s.askModel(t.Context(), run.Text(run.RoleUser, "third")))
	var asked []string
	for _, m := range model.Turns()[0].Request.Messages {
		asked = append(asked, m.Text())
	}
	check.Same(t, "messages", asked, []string{"first", "yes", "second", "(no answer: the turn failed)", "third"})
}
