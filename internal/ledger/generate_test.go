package ledger_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// generator makes valid runs.
type generator struct {
	*rand.Rand
	ids int
}

func newGenerator(seed uint64) *generator { return &generator{Rand: rand.New(rand.NewPCG(seed, 1))} }

// run makes up to n records, and calls each with the state before it.
func (g *generator) run(n int, each func(*ledger.State, ledger.Entry) error) error {
	s := new(ledger.State)
	for range n {
		r := g.record(s, 0)
		if r.Change == nil {
			return nil
		}
		if err := each(s, r); err != nil {
			return err
		}
	}
	return nil
}

// record makes the next record of a run at that depth.
func (g *generator) record(s *ledger.State, depth int) ledger.Entry {
	at := start.Add(time.Duration(g.IntN(1e9))).In(pick(g, time.UTC, time.FixedZone("", 5400)))
	if depth == 0 && s.Seq > 0 && g.IntN(10) == 0 {
		snapshot, err := ledger.NewSnapshot(s)
		if err != nil {
			panic(err)
		}
		return ledger.Entry{Seq: s.Seq + 1, At: at, Change: snapshot}
	}
	return ledger.Entry{Seq: s.Seq + 1, At: at, Change: g.change(s, depth)}
}

func (g *generator) change(s *ledger.State, depth int) ledger.Change {
	switch {
	case s.Seq == 0:
		return &ledger.Begun{
			V: ledger.Version, ID: g.id("run"), Tenant: g.text(), Agent: ledger.AgentName{Name: g.text()}, Messages: g.messages(),
			Limits: run.Limits{Turns: g.IntN(3), Cost: g.cost()}, Vars: g.raws(), Schema: g.raw(), Unknown: g.unknown(),
		}
	case s.Status.Ended():
		if depth > 0 || g.IntN(3) == 0 {
			return g.aside(s)
		}
		return &ledger.Said{Messages: g.messages(), Limits: run.Limits{Active: time.Duration(g.IntN(5))}, Schema: g.raw()}
	}
	switch n := g.IntN(20); {
	case n < 2:
		return g.aside(s)
	case n == 2:
		return &ledger.Suspended{Wake: g.time()}
	case s.Status == run.StatusWaiting && n < 10:
		return &ledger.Woken{}
	case n == 19 && g.IntN(3) == 0:
		return &ledger.Ended{Status: pick(g, run.StatusFinished, run.StatusFailed, run.StatusCancelled), Output: g.text(), Structured: g.raw(), Error: g.text()}
	case len(s.Questions) > 0 && n < 8:
		return &ledger.Replied{Reply: g.reply(pick(g, s.Questions...).ID), Value: g.raw()}
	case s.Phase == ledger.PhaseModel:
		return g.ofModel(s)
	}
	return g.ofCalls(s, depth)
}

// aside returns a change that is possible at any time.
func (g *generator) aside(s *ledger.State) ledger.Change {
	switch g.IntN(5) {
	case 4:
		if !s.Status.Ended() {
			return g.offered(s)
		}
	case 0:
		return &ledger.Charged{Spent: g.spent()}
	case 1:
		if s.Status.Ended() || len(s.Sampling) > 0 {
			return &ledger.Charged{Spent: g.spent(), Settles: new("key")}
		}
		return &ledger.Reserved{Key: "key", Amount: g.amount()}
	}
	return &ledger.Noted{Vars: g.raws(), Trace: map[string]string{"traceparent": g.text()}, Taken: g.IntN(4) == 0}
}

// offered adds tools. Some were added before.
func (g *generator) offered(s *ledger.State) ledger.Change {
	c := &ledger.Offered{Unknown: g.unknown()}
	if s.Discovery == "" && g.IntN(2) == 0 {
		c.Discovery, c.Directory = pick(g, ledger.DiscoveryNative, ledger.DiscoveryCall, "of a later version"), g.text()
	}
	if len(s.Offered) > 0 && g.IntN(2) == 0 {
		again := pick(g, s.Offered...)
		again.Name = g.text()
		c.Tools = append(c.Tools, again)
	}
	for range min(g.IntN(3), ledger.MaxOffered-len(s.Offered)) {
		c.Tools = append(c.Tools, ledger.OfferedTool{Server: g.text(), Tool: g.id("tool"), Def: g.text(), Name: g.id("name"), Unknown: g.unknown()})
	}
	return c
}

func (g *generator) ofModel(s *ledger.State) ledger.Change {
	switch {
	case s.Status == run.StatusWaiting:
		return &ledger.Woken{}
	case g.IntN(8) == 0:
		return &ledger.Compacted{Replaced: g.IntN(len(s.History) + 1), Messages: g.messages(), Usage: g.spent()}
	case s.Model == nil || g.IntN(5) == 0:
		return &ledger.Called{Reserved: g.amount(), Lost: s.Model != nil && g.IntN(2) == 0, Final: g.text()}
	}
	c := &ledger.Responded{Message: g.message(), Finish: g.text(), Endpoint: g.text(), Usage: g.spent(), Size: g.Int64N(2), Estimated: g.IntN(2) == 0, Unknown: g.unknown()}
	for range g.IntN(4) {
		c.Calls = append(c.Calls, ledger.Call{
			ID: g.id("call"), Key: g.text(), Name: g.text(), At: ledger.CallProposed, Asked: g.text(), Wrapped: g.IntN(2) == 0, Unknown: g.unknown(),
		})
	}
	return c
}

func (g *generator) ofCalls(s *ledger.State, depth int) ledger.Change {
	c := pick(g, s.Calls...)
	if c.At == ledger.CallDone {
		for _, o := range s.Calls {
			if o.At != ledger.CallDone {
				c = o
			}
		}
	}
	id := c.ID
	outcome := &ledger.Outcome{Call: id, Result: run.Part{
		Type: run.PartResult, ID: id, Text: g.text(), Structured: g.raw(), IsError: g.IntN(2) == 0, Media: g.parts(1), Unknown: g.unknown(),
	}}
	if g.IntN(4) == 0 {
		outcome.Result.Kept = &run.Kept{Handle: g.id("r"), Tool: g.text(), Kind: "json", Shape: g.text(), Size: g.IntN(99), Digest: g.text(), Unknown: g.unknown()}
	}
	if reply := g.text(); g.IntN(4) == 0 {
		outcome.Stop = &reply
	}
	var to []ledger.Change
	switch c.At {
	case ledger.CallProposed:
		to = append(to, &ledger.Decided{Call: id, Decision: ledger.Decision{Allow: g.IntN(3) > 0, Arguments: g.raw(), When: g.time()}, Args: g.raw()},
			&ledger.Opened{Question: g.question(run.QuestionApproval, id, "")})
	case ledger.CallReady, ledger.CallOfChild:
		if depth < 3 && (c.Child != nil || s.Status == run.StatusRunning) {
			child := c.Child
			if child == nil {
				child = new(ledger.State)
			}
			nested := &ledger.Nested{Call: id, Record: g.record(child, depth+1), Unknown: g.unknown()}
			to = append(to, nested, nested, nested)
		}
	case ledger.CallSent:
		to = append(to, &ledger.Paused{Call: id, Round: pick(g, json.RawMessage(`{}`), json.RawMessage(`{"requestState":"<"}`)), Replies: g.raws()},
			&ledger.Detached{Call: id, Task: ledger.Task{ID: g.text(), Expires: g.time()}}, &ledger.Opened{Question: g.question(run.QuestionDoubt, id, "")},
			&ledger.Opened{Question: g.question(run.QuestionForm, id, "")}, &ledger.Opened{Question: g.question(run.QuestionSignIn, id, "")}, &ledger.Opened{Question: g.parked(id)})
	case ledger.CallInRound:
		to = append(to, &ledger.Opened{Question: g.question(pick(g, run.QuestionForm, run.QuestionURL, run.QuestionSampling), id, g.id("key"))},
			&ledger.Detached{Call: id, Task: ledger.Task{ID: g.text()}}, &ledger.Opened{Question: g.question(run.QuestionSignIn, id, "")})
		for _, key := range slices.Sorted(maps.Keys(c.Reviews)) {
			if c.Reviews[key].Reply.Action == run.ActionAllow {
				to = append(to, &ledger.Sampled{Call: id, Key: key, Value: g.raw()})
			}
		}
	case ledger.CallParked:
		to = append(to, &ledger.Opened{Question: g.parked(id)})
	case ledger.CallAtSignIn:
		to = append(to, &ledger.Paused{Call: id, Round: json.RawMessage(`{}`)})
	case ledger.CallTasked:
		to = append(to, &ledger.Paused{Call: id, Round: json.RawMessage(`[]`)}, &ledger.Opened{Question: g.question(run.QuestionSignIn, id, "")})
	case ledger.CallDone:
		return &ledger.TurnEnded{Unknown: g.unknown()}
	}
	isOpen := func(q *run.Question) bool { return q.Call == id && q.ServerKey != "" }
	waits := c.At == ledger.CallInRound || c.At == ledger.CallParked // for open questions
	sends := c.At == ledger.CallReady || c.At == ledger.CallSent || waits && !slices.ContainsFunc(s.Questions, isOpen) || (c.At == ledger.CallInDoubt || c.At == ledger.CallAtSignIn) && c.Reply != nil
	if sends && s.Status == run.StatusRunning && (c.Approved == nil || c.Approved.Allow) {
		to = append(to, &ledger.Intent{Call: id, Args: g.raw()}, &ledger.Intent{Call: id})
	}
	if len(to) == 0 || g.IntN(6) == 0 {
		return outcome
	}
	return pick(g, to...)
}

func (g *generator) question(kind run.QuestionKind, call, key string) run.Question {
	q := run.Question{
		ID: g.id("ask"), Kind: kind, Call: call, ServerKey: key, Server: g.text(), Path: []string{g.text()}, Survives: g.IntN(2) == 0,
		Created: g.time(), Expires: g.time(), Arguments: g.raw(), Unknown: g.unknown(),
	}
	switch kind {
	case run.QuestionApproval:
		q.Definition = &mcp.Tool{Name: g.text(), InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: pick(g, nil, &mcp.ToolAnnotations{})}
	case run.QuestionDoubt:
		q.Tries, q.Sent = g.IntN(3), g.time()
	case run.QuestionForm:
		q.Elicit = form()
	case run.QuestionSampling:
		q.Sampling = &mcp.CreateMessageParams{MaxTokens: 5, Messages: []mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "<?>"}}}}}
	}
	return q
}

// parked returns a question of a call that is made again.
func (g *generator) parked(call string) run.Question {
	q := g.question(run.QuestionForm, call, g.id("key"))
	q.Repeats = true
	return q
}

func (g *generator) reply(question string) run.Reply {
	return run.Reply{
		Question: question, Action: pick(g, run.ActionAllow, run.ActionDeny, run.ActionAccept, run.ActionNotRun), Reason: g.text(), Arguments: g.raw(), Content: g.raw(),
		By: g.text(), At: g.time(), Unknown: g.unknown(),
	}
}

func (g *generator) messages() []run.Message {
	messages := make([]run.Message, g.IntN(3), 5)
	for i := range messages {
		messages[i] = g.message()
	}
	return messages
}

func (g *generator) message() run.Message {
	return run.Message{Role: pick(g, run.RoleUser, run.RoleAssistant), Parts: g.parts(3), Model: g.text(), At: g.time(), Unknown: g.unknown()}
}

func (g *generator) parts(n int) []run.Part {
	parts := make([]run.Part, g.IntN(n+1))
	for i := range parts {
		parts[i] = run.Part{
			Type: pick(g, run.PartText, run.PartReasoning, run.PartSummary, "of a later version"), Text: g.text(),
			Data: pick(g, nil, []byte{}, []byte{0, 255}), Meta: g.raw(), Provider: g.raws(), Unknown: g.unknown(),
		}
	}
	return parts
}

func (g *generator) id(of string) string {
	g.ids++
	return fmt.Sprint(of, "_", g.ids)
}

func (g *generator) amount() ledger.Amount {
	return ledger.Amount{Tokens: int64(g.IntN(5)), Cost: g.cost(), Unknown: g.unknown()}
}

func (g *generator) text() string {
	return pick(g, "", "", "a", "<é>&\u2028", "a\xffb", "\x00\"\\", "0")
}

func (g *generator) raw() json.RawMessage {
	return pick(g, nil, nil, nil, json.RawMessage(`{}`), json.RawMessage(`[]`), json.RawMessage(`""`), json.RawMessage(`null`),
		json.RawMessage(` {"b": 1.50, "a":["\u00e9<"], "a":2} `), json.RawMessage("\"\xff\""), json.RawMessage(`12345678901234567890`))
}

func (g *generator) raws() map[string]json.RawMessage {
	return pick(g, nil, nil, map[string]json.RawMessage{}, map[string]json.RawMessage{"a": g.raw(), "<b>": g.raw()}, map[string]json.RawMessage{"a": nil})
}

func (g *generator) cost() map[string]int64 {
	return pick(g, nil, nil, map[string]int64{}, map[string]int64{"USD": g.Int64N(9)}, map[string]int64{"EUR": g.Int64N(9), "USD": g.Int64()})
}

func (g *generator) spent() run.Usage {
	used := run.Usage{Turns: g.IntN(2), Input: g.Int64N(3), Output: g.Int64N(3), Total: pick(g, 0, 7, g.Int64()), Cost: g.cost(), Active: time.Duration(g.IntN(9))}
	return withSampling(used, 0, g.Int64N(2))
}

// withSampling returns usage with that of completions for servers.
func withSampling(u run.Usage, requests int, tokens int64) run.Usage {
	u.Sampling.Requests, u.Sampling.Tokens = requests, tokens
	return u
}

func (g *generator) time() time.Time {
	return pick(g, time.Time{}, start, start.Add(time.Nanosecond).In(time.FixedZone("", -3600)))
}

func (g *generator) unknown() jsontext.Value {
	return pick(g, nil, nil, nil, nil, jsontext.Value(`{"new":{"z":1.0,"a":[null]}}`), jsontext.Value(`{}`))
}

func pick[T any](g *generator, from ...T) T { return from[g.IntN(len(from))] }
