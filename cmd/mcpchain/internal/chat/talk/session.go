// Package talk runs a conversation between a person and a model that uses the tools of servers.
package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/media"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Config configures a [Session].
type Config struct {
	Screen     screen.Screen
	Interrupts *Interrupts
	Person     *person.Person
	Models     *models.Flags // the first model, others for /model, and prices
	Servers    *Servers

	NoInstructions bool // withhold servers' instructions and skills from the model

	Store    record.Store  // keeps conversations
	Continue bool          // continue the newest conversation of Folder
	Folder   string        // in which the program was started
	Media    *media.Folder // keeps pictures and sounds of servers; nil: they are not kept
}

// Session is a conversation with its servers and the commands of the person.
type Session struct {
	Config

	model        *chosenModel
	conversation *conversation
	archive      *archive
	instructions *instructions
	offers       *offers
	attachments  *attachments
	downloads    *downloads
	results      *results
	views        *toolViews
}

// newSession returns a session that is not connected.
func newSession(c Config) *Session {
	s := &Session{Config: c, results: &results{screen: c.Screen}}
	s.archive = &archive{store: c.Store, screen: c.Screen, folder: c.Folder}
	s.model = &chosenModel{flags: c.Models, screen: c.Screen, person: c.Person, makeAgent: s.makeAgent}
	s.conversation = &conversation{screen: c.Screen, archive: s.archive, model: s.model, name: newName()}
	c.Servers.screen, c.Servers.person, c.Servers.makeAgent = c.Screen, c.Person, s.makeAgent
	s.instructions = &instructions{
		screen: c.Screen, servers: c.Servers, withheld: c.NoInstructions, shown: map[string]string{},
	}
	s.downloads = &downloads{screen: c.Screen, folder: c.Media}
	s.offers = &offers{screen: c.Screen, all: c.Servers, downloads: s.downloads, ask: s.askModel}
	s.attachments = &attachments{screen: c.Screen, offers: s.offers}
	s.views = &toolViews{screen: c.Screen}
	return s
}

// ErrReported stands for errors that the person has already seen.
var ErrReported = errors.New("reported already")

// Open prepares the model, and connects to the servers. The caller has to close the session.
func Open(ctx context.Context, c Config) (*Session, error) {
	s := newSession(c)
	if err := s.open(ctx); err != nil {
		s.Close()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	s.views.open(s.Servers.toolset, s.Person, s.Interrupts)
	if editor, ok := c.Screen.(screen.Completing); ok {
		editor.CompleteBy(s.complete)
	}
	return s, nil
}

// open prepares the model, the servers and the agent.
func (s *Session) open(ctx context.Context) error {
	if err := s.model.open(ctx); err != nil {
		return err
	}
	s.Servers.authorize()
	if err := s.Servers.configure(s.model); err != nil {
		return err
	}
	if err := s.Servers.connect(ctx); err != nil {
		return err
	}
	return s.makeAgent(ctx)
}

// makeAgent creates the agent for the current model and servers.
func (s *Session) makeAgent(ctx context.Context) error {
	model := s.model.endpoint()
	llm, err := model.Open(s.onRetry)
	if err != nil {
		return err
	}
	set, err := s.instructions.openSkills(ctx)
	if err != nil {
		return err
	}
	system := s.instructions.systemPrompt()
	sources := []adapter.Source{s.Servers.toolset}
	if set != nil {
		system += "\n\n" + set.Instructions()
		sources = append(sources, set)
	}
	if gauge, ok := s.Screen.(screen.Windowed); ok {
		gauge.Window(model.Window)
	}
	s.conversation.agent, err = agent.New(llm, &agent.Options{
		Name:    agentName,
		System:  system,
		Tools:   sources,
		Model:   agent.ModelSettings{Prices: s.Models.Prices},
		Person:  agent.Person{Approve: s.Person.Approve, Reply: s.Person.Answer},
		Durable: agent.Durable{Store: s.Store, LeaseTTL: leaseTTL},
	})
	return err
}

// onRetry shows that a request to the model has failed and is repeated after a wait.
func (s *Session) onRetry(err error, wait time.Duration) {
	if !s.Screen.Attended() {
		return
	}
	what := "no answer of the model"
	if status := statusOf(err); status > 0 {
		what = strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
	}
	s.Screen.Progress("%s, again in %.0f s", what, math.Ceil(wait.Seconds()))
}

// statusOf returns the HTTP status of a failure of the model's provider, 0 if there was no answer.
func statusOf(err error) int {
	if failure, ok := errors.AsType[*chat.Error](err); ok {
		return failure.Status
	}
	return 0
}

// Close closes the views, the connections and the demo model.
func (s *Session) Close() {
	s.views.close()
	s.Servers.close()
	s.model.close()
}

// Ask asks a single question, and then reports failures for the exit status.
func (s *Session) Ask(ctx context.Context, question string) error {
	if err := s.ask(ctx, question); isQuit(err) {
		return err
	}
	return s.reportFailures()
}

// Talk holds a conversation until the input ends. For a script it then reports failures like Ask.
func (s *Session) Talk(ctx context.Context) error {
	s.Interrupts.begin(s.Screen)
	if err := s.converse(ctx); err != nil || s.Screen.Attended() {
		return err
	}
	return s.reportFailures()
}

// reportFailures shows what failed, in that case with ErrReported.
func (s *Session) reportFailures() error {
	if s.Person.Failures.Report(s.Screen) {
		return ErrReported
	}
	return nil
}

// converse handles lines until the input or the program ends. It continues after a failed turn.
func (s *Session) converse(ctx context.Context) error {
	if s.Screen.Attended() {
		failed := func(server adapter.ServerStatus) bool { return server.Err != nil }
		if slices.ContainsFunc(s.Servers.allStatuses(), failed) {
			s.Screen.Note(screen.Faint, "/servers restart NAME tries a server again; after a change of the file, start the program again.")
		}
		s.Screen.Note(screen.Faint, "Ask something; /help lists commands; Ctrl-C ends a turn, Ctrl-D the conversation.")
	}
	if s.Continue {
		if err := s.command(ctx, "/resume"); errors.Is(err, errQuit) || isQuit(err) {
			return err
		}
	}
	for {
		question, err := s.Screen.Question(ctx)
		if _, skipped := errors.AsType[*screen.LongLineError](err); skipped {
			s.fail(err)
			continue
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case question == "":
			continue
		}
		if err := s.ask(ctx, question); errors.Is(err, errQuit) {
			return nil
		}
	}
}

// ask handles a command or a question, and reports failures.
func (s *Session) ask(ctx context.Context, text string) error {
	if IsCommand(text) {
		return s.command(ctx, text)
	}
	ctx, done := s.Interrupts.beginTurn(person.InTurn(ctx))
	defer done()
	message, err := s.attachments.message(ctx, text)
	if err != nil {
		return s.report(cmp.Or(context.Cause(ctx), err))
	}
	return s.askModel(ctx, message)
}
