package eventfeed_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
)

// The events that the feed takes for recorded are those that an agent replays.
func TestHasRecord(t *testing.T) {
	store := record.NewMemory()
	tool := adapter.Func("work", "Works.", func(context.Context, struct{}) (string, error) { return "worked", nil }, nil)
	model := agenttest.Play(agenttest.CallTools("work", "{}"), agenttest.Say("done")).WithInfo(model.Info{})
	a, err := agent.New(model, &agent.Options{
		Tools: []adapter.Source{tool}, Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson},
		Compact: func(_ context.Context, history []run.Message, _ compact.Budget) (*compact.Result, error) {
			if len(history) > 1 {
				return nil, nil
			}
			return &compact.Result{Replaced: 1, Messages: []run.Message{run.Text(run.RoleUser, "go"), run.Text(run.RoleUser, "on")}}, nil
		},
	})
	check.Must(t, err)
	var live []agent.Event
	var asked *run.Question
	read := func(events iter.Seq2[agent.Event, error]) {
		for e, err := range events {
			check.Must(t, err)
			live = append(live, e)
			if ask, ok := e.(*agent.Asked); ok {
				asked = ask.Question
			}
		}
	}
	read(a.Events(t.Context(), agent.Text("go"), agent.WithRun("r")))
	read(a.ResumeEvents(t.Context(), run.Key{ID: "r"}, asked.Allow()))
	replayed := map[string]bool{}
	for e, err := range a.Replay(t.Context(), run.Key{ID: "r"}, agent.Position{}) {
		check.Must(t, err)
		replayed[fmt.Sprintf("%v %T", e.Position(), e)] = true
	}
	kinds := map[string]bool{}
	for _, e := range live {
		kind := fmt.Sprintf("%T", e)
		check.Equal(t, "has "+kind+" a record", eventfeed.HasRecord(e), replayed[fmt.Sprintf("%v %s", e.Position(), kind)])
		kinds[kind] = true
	}
	if len(kinds) < 11 { // ten with a record, and pieces of text
		t.Errorf("got only events of the types %v", kinds)
	}
}

var key = run.Key{Tenant: "acme", ID: "r"}

// kept is a store: it has the events of one run that have a record.
type kept struct {
	mu           sync.Mutex
	events       []agent.Event
	over         bool
	looks, heads int
}

func (k *kept) Replay(_ context.Context, at run.Key, after agent.Position) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		if at != key {
			yield(nil, record.ErrNotFound)
			return
		}
		k.mu.Lock()
		k.looks++
		events := slices.Clone(k.events)
		k.mu.Unlock()
		for _, e := range events {
			if after.Before(e.Position()) && !yield(e, nil) {
				return
			}
		}
	}
}

func (k *kept) Head(context.Context, run.Key) (run.Head, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.heads++
	h := run.Head{Key: key, Status: run.StatusRunning}
	if n := len(k.events); n > 0 {
		h.Seq = k.events[n-1].Position().Seq
	}
	if k.over {
		h.Seq, h.Status = h.Seq+1, run.StatusFailed
	}
	return h, nil
}

// turn keeps an event that has a record.
func (k *kept) turn(seq uint64, more int) agent.Event {
	k.mu.Lock()
	defer k.mu.Unlock()
	e := &agent.TurnEnd{EventInfo: agent.EventInfo{Run: key.ID, Seq: seq, More: more}}
	k.events = append(k.events, e)
	return e
}

// asked keeps a large event.
func (k *kept) asked(seq uint64, size int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.events = append(k.events, &agent.Asked{EventInfo: agent.EventInfo{Run: key.ID, Seq: seq}, Question: &run.Question{ID: strings.Repeat("x", size)}})
}

// delta is an event without a record.
func delta(seq uint64, text string) agent.Event {
	return &agent.TextDelta{EventInfo: agent.EventInfo{Run: key.ID, Seq: seq}, Text: text}
}

// read begins to read, until the test ends.
func read(t *testing.T, f *eventfeed.Feed, after string) *eventfeed.Reader {
	t.Helper()
	r := check.Value(f.Read(t.Context(), key, check.Value(agent.ParsePosition(after))(t)))(t)
	t.Cleanup(r.Close)
	return r
}

// word is how tests write an event: its id, the text of a delta, or "refresh".
func word(t *testing.T, e eventfeed.Event) string {
	t.Helper()
	var body struct{ Type, Text string }
	check.Must(t, json.Unmarshal(e.Data, &body))
	switch {
	case e.ID != "":
		return e.ID
	case body.Type == "text_delta":
		return body.Text
	}
	return body.Type
}

// rest reads all that there is without waiting.
func rest(t *testing.T, r *eventfeed.Reader) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	words := []string{}
	for {
		e, err := r.Next(ctx)
		if err != nil {
			return strings.Join(words, " ")
		}
		words = append(words, word(t, e))
	}
}

func wantRest(t *testing.T, r *eventfeed.Reader, want string) {
	t.Helper()
	check.Equal(t, "", rest(t, r), want)
}

// wantNext waits for an event.
func wantNext(t *testing.T, r *eventfeed.Reader, want string) {
	t.Helper()
	check.Equal(t, "next", word(t, check.Value(r.Next(t.Context()))(t)), want)
}

func TestResume(t *testing.T) {
	k := new(kept)
	whole := eventfeed.New(&eventfeed.Options{Replay: k.Replay})
	early := read(t, whole, "")
	for _, e := range []agent.Event{k.turn(3, 0), delta(3, "a"), delta(3, "b"), k.turn(5, 1), k.turn(5, 0), delta(5, "c")} {
		whole.Publish(key, e)
	}
	wantRest(t, early, "3 a b 5.1 5 c")
	again := eventfeed.New(&eventfeed.Options{Replay: k.Replay}) // the process has begun again
	for _, test := range []struct{ after, want, again string }{
		{"", "3 a b 5.1 5 c", "3 5.1 5"}, {"2", "3 a b 5.1 5 c", "3 5.1 5"}, {"3", "a b 5.1 5 c", "5.1 5"},
		{"4", "5.1 5 c", "5.1 5"}, {"5.1", "5 c", "5"}, {"5", "c", ""},
	} {
		check.Equal(t, test.after, rest(t, read(t, whole, test.after)), test.want)
		check.Equal(t, test.after+" in a new process", rest(t, read(t, again, test.after)), test.again)
	}
}

func TestWithoutAStore(t *testing.T) {
	f := eventfeed.New(&eventfeed.Options{RunBytes: 700})
	for n := range 9 {
		f.Publish(key, &agent.TurnEnd{EventInfo: agent.EventInfo{Seq: uint64(n + 1)}})
	}
	got := rest(t, read(t, f, ""))
	check.That(t, strings.HasPrefix(got, "refresh ") && strings.HasSuffix(got, " 8 9"), "got %q, want a text such as %q", got, "refresh 8 9")
	other := eventfeed.New(&eventfeed.Options{TotalBytes: 700})
	other.Publish(key, &agent.TurnEnd{EventInfo: agent.EventInfo{Seq: 3}})
	wantRest(t, read(t, other, ""), "3")
	other = eventfeed.New(&eventfeed.Options{TotalBytes: 700})
	for seq := range uint64(3) {
		other.Publish(key, &agent.TurnEnd{EventInfo: agent.EventInfo{Seq: seq + 3}})
		other.Publish(run.Key{ID: "large"}, delta(1, strings.Repeat("x", 400))) // the run is forgotten
	}
	other.Publish(key, &agent.TurnEnd{EventInfo: agent.EventInfo{Seq: 6}})
	for after, want := range map[string]string{"": "refresh 6", "3": "refresh 6", "5": "6", "6": ""} {
		check.Equal(t, after, rest(t, read(t, other, after)), want)
	}
	other = eventfeed.New(&eventfeed.Options{TotalBytes: 700})
	other.Publish(key, &agent.TurnEnd{EventInfo: agent.EventInfo{Seq: 3}})
	other.Publish(run.Key{ID: "large"}, delta(1, strings.Repeat("x", 400)))
	other.Publish(key, delta(3, "d"))
	for after, want := range map[string]string{"2": "refresh d", "3": "d"} {
		check.Equal(t, "a delta after "+after, rest(t, read(t, other, after)), want)
	}
}

// TestSlowReader has a reader stop while a run continues for longer than memory.
func TestSlowReader(t *testing.T) {
	k := new(kept)
	f := eventfeed.New(&eventfeed.Options{Replay: k.Replay, RunBytes: 2000})
	r := read(t, f, "")
	f.Publish(key, k.turn(1, 0))
	f.Publish(key, delta(1, "lost"))
	wantNext(t, r, "1")
	for seq := range uint64(50) {
		f.Publish(key, k.turn(seq+2, 0))
		f.Publish(key, delta(seq+2, fmt.Sprint("d", seq+2)))
	}
	words := strings.Fields(rest(t, r))
	at := slices.Index(words, "refresh")
	check.That(t, at >= 0 && !slices.Contains(words, "d20"), "got %q, want a refresh, and no delta of long ago", words)
	want := uint64(2)
	for _, w := range words {
		if w == fmt.Sprint(want) {
			want++
		}
	}
	check.That(t, want == 52 && words[len(words)-1] == "d51", "got %q, want all events with a record, up to 51, and the last delta", words)
}

// TestOtherProcess has another process do a part of the work.
func TestOtherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := new(kept)
		f := eventfeed.New(&eventfeed.Options{Replay: k.Replay, Head: k.Head, Poll: time.Second})
		r := read(t, f, "")
		f.Publish(key, k.turn(1, 0))
		f.Publish(key, delta(1, "a"))
		f.NotifyStopped(key)
		wantRest(t, r, "1 a refresh")
		k.turn(2, 0)
		wantNext(t, r, "2") // of the store
		k.turn(3, 0)
		f.Publish(key, k.turn(4, 0))
		wantRest(t, r, "3 4")
		wantRest(t, read(t, f, "1"), "2 3 4")
		f.NotifyStopped(key)
		wantRest(t, r, "refresh")
		k.mu.Lock()
		k.over = true
		k.mu.Unlock()
		wantNext(t, r, "refresh") // the run is over
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check.Is(t, check.Err(r.Next(ctx)), context.DeadlineExceeded)
		check.That(t, k.heads <= 25 && k.looks <= 10, "got %d heads and %d replays, want few of a run that does not move", k.heads, k.looks)
		f.Wake(key)
		began := time.Now()
		k.turn(5, 0)
		wantNext(t, r, "5")
		took := time.Since(began)
		check.That(t, took <= time.Second, "got event 5 after %v, want it soon", took)
	})
}

// TestBounds publishes more than there is room for.
func TestBounds(t *testing.T) {
	for name, test := range map[string]struct {
		options eventfeed.Options
		runs    int
	}{
		"one run":   {eventfeed.Options{RunBytes: 4000, TotalBytes: 1 << 20}, 1},
		"many runs": {eventfeed.Options{RunBytes: 4000, TotalBytes: 40_000}, 500},
	} {
		t.Run(name, func(t *testing.T) {
			f := eventfeed.New(&test.options)
			for n := range 5000 {
				f.Publish(run.Key{ID: fmt.Sprint(n % test.runs)}, delta(uint64(n+1), strings.Repeat("x", n%300)))
			}
			bound := min(test.options.RunBytes*test.runs, test.options.TotalBytes)
			if streams, size := f.Size(); size > bound || size < bound/2 || streams > 320 {
				t.Errorf("got %d runs with %d bytes, want at most 320 with %d", streams, size, bound)
			}
			f.Publish(key, delta(1, strings.Repeat("x", 5000)))
			streams, size := f.Size()
			check.That(t, size <= bound && streams <= 320, "got %d runs with %d bytes after a large event, want at most 320 with %d", streams, size, bound)
		})
	}
}

func TestReadersAreBounded(t *testing.T) {
	f := eventfeed.New(&eventfeed.Options{Readers: 2})
	read(t, f, "")
	second := read(t, f, "")
	check.Is(t, check.Err(f.Read(t.Context(), key, agent.Position{})), eventfeed.ErrTooManyReaders)
	second.Close()
	second.Close()
	read(t, f, "")
	check.Is(t, check.Err(f.Read(t.Context(), key, agent.Position{})), eventfeed.ErrTooManyReaders)
}

// TestSlowReadersAreBounded has many readers of a long run that do not pass on what they read.
func TestSlowReadersAreBounded(t *testing.T) {
	const slow, run, total, event = 200, 256 << 10, 1 << 20, 4 << 10
	k := new(kept)
	f := eventfeed.New(&eventfeed.Options{Replay: k.Replay, Head: k.Head, RunBytes: run, TotalBytes: total})
	for seq := range uint64(2 * run / event) {
		k.asked(seq+1, event)
	}
	var readers []*eventfeed.Reader
	for range slow {
		readers = append(readers, read(t, f, ""))
	}
	got, most := f.Usage().Held, total+run+slow*(16<<10+event+1000)
	check.That(t, got <= most && got >= total, "%d slow readers hold %d bytes, want %d at most, and all that they may", slow, got, most)
	last := readers[slow-1]
	got = len(strings.Fields(rest(t, last)))
	check.That(t, got >= 4, "the last reader has %d events, want some", got)
	for _, r := range readers {
		r.Close()
	}
	check.Equal(t, "bytes after all are closed", f.Usage().Held, 0)
}

// TestReadersComeAndGo has readers begin again and again, in memory too small for a run that other
// processes take over at times: they get each event with a record once, in order.
func TestReadersComeAndGo(t *testing.T) {
	const last = 2000
	k := new(kept)
	f := eventfeed.New(&eventfeed.Options{Replay: k.Replay, RunBytes: 3000, Poll: time.Millisecond})
	var readers sync.WaitGroup
	for seed := range uint64(4) {
		readers.Go(func() { comeAndGo(t, f, rand.New(rand.NewPCG(seed, 1)), last) })
	}
	random := rand.New(rand.NewPCG(7, 7))
	for seq := uint64(1); seq <= last; seq++ {
		e := k.turn(seq, 0)
		switch n := random.IntN(20); {
		case n == 0:
			f.NotifyStopped(key)
			for range random.IntN(10) { // of another process
				if seq < last {
					seq++
					k.turn(seq, 0)
				}
			}
		case n < 10:
			f.Publish(key, e)
			f.Publish(key, delta(seq, "d"))
		default:
			f.Publish(key, e)
		}
	}
	f.NotifyStopped(key)
	readers.Wait()
	_, size := f.Size()
	check.That(t, size <= 3000 && f.Usage().Held == 0, "got %d bytes in memory and %d held by readers, want at most 3000 and none", size, f.Usage().Held)
}

// comeAndGo reads up to the last event, with a new reader now and then.
func comeAndGo(t *testing.T, f *eventfeed.Feed, random *rand.Rand, last uint64) {
	at := agent.Position{}
	for at.Seq < last {
		r, err := f.Read(t.Context(), key, at)
		if err != nil {
			t.Error(err)
			return
		}
		for n := random.IntN(50); n >= 0 && at.Seq < last; n-- {
			e, err := r.Next(t.Context())
			if err != nil {
				t.Error(err)
				break
			}
			if e.ID == "" {
				continue
			}
			if want := fmt.Sprint(at.Seq + 1); e.ID != want {
				t.Errorf("got event %s, want %s", e.ID, want)
				r.Close()
				return
			}
			at.Seq++
		}
		r.Close()
	}
}

// TestLostEvent has a process keep an event and lose the run before it publishes it.
func TestLostEvent(t *testing.T) {
	for _, withHeads := range []bool{true, false} {
		k := new(kept)
		options := &eventfeed.Options{Replay: k.Replay}
		if withHeads {
			options.Head = k.Head
		}
		f := eventfeed.New(options)
		r := read(t, f, "")
		f.Publish(key, k.turn(1, 0))
		f.NotifyStopped(key)
		wantRest(t, r, "1 refresh")
		f.Publish(key, k.turn(2, 0))
		k.turn(3, 0)
		f.NotifyStopped(key)
		got, want := rest(t, r), "2 refresh 3"
		check.That(t, strings.HasSuffix(got, want), "heads %t: got %q, want %q", withHeads, got, want)
		wantRest(t, r, "")
	}
}

// TestReaderWaitsMeanwhile has a reader wait, with all of memory read, while another process works.
func TestReaderWaitsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := new(kept)
		k.turn(1, 0)
		f := eventfeed.New(&eventfeed.Options{Replay: k.Replay})
		r, next := read(t, f, "1"), make(chan eventfeed.Event)
		go func() {
			e, _ := r.Next(t.Context())
			next <- e
		}()
		synctest.Wait()
		k.turn(2, 0)
		f.NotifyStopped(key)
		check.Equal(t, "work on the run has ended", (<-next).ID, "2")
		k.turn(3, 0)
		f.NotifyStopped(key) // while the reader is busy
		wantRest(t, r, "3")
		f.Publish(key, k.turn(4, 0))
		f.NotifyStopped(key)
		wantRest(t, r, "4 refresh")
		k.turn(5, 0)
		f.Publish(key, k.turn(6, 0))
		wantRest(t, r, "refresh 5 6")
	})
}

// TestItems gives readers items of a program's own: from memory, and before them from the store.
// What has no data is no event.
func TestItems(t *testing.T) {
	item := func(seq uint64, text string) eventfeed.Item {
		return eventfeed.Item{At: agent.Position{Seq: seq}, Data: []byte(text)}
	}
	none := func(seq uint64) eventfeed.Item { return eventfeed.Item{At: agent.Position{Seq: seq}} }
	store := []eventfeed.Item{item(1, "one"), none(2), item(3, "three"), item(4, "four")}
	f := eventfeed.New(&eventfeed.Options{Items: func(_ context.Context, _ run.Key, after agent.Position) iter.Seq2[eventfeed.Item, error] {
		return func(yield func(eventfeed.Item, error) bool) {
			for _, i := range store {
				if after.Before(i.At) && !yield(i, nil) {
					return
				}
			}
		}
	}})
	ready := func(r *eventfeed.Reader) (texts []string) {
		for {
			events := check.Value(r.Ready(t.Context()))(t)
			if len(events) == 0 {
				return texts
			}
			for _, e := range events {
				texts = append(texts, e.ID+" "+string(e.Data))
			}
		}
	}
	r := read(t, f, "")
	check.Same(t, "of the store", ready(r), []string{"1 one", "3 three", "4 four"})
	store = append(store, item(5, "five"), none(6), item(7, "seven"))
	for _, i := range []int{4, 5, 4, 6} { // one of them twice
		f.Put(key, store[i])
	}
	check.Same(t, "each once", ready(r), []string{"5 five", "7 seven"})
	check.Same(t, "after 3", ready(read(t, f, "3")), []string{"4 four", "5 five", "7 seven"})
}
