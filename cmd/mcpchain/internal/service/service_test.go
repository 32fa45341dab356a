package service

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestTwoUsers(t *testing.T) {
	url := start(t, settings(t), nil)
	ada, bob := person{t, url, "demo-ada"}, person{t, url, "demo-bob"}
	runs := map[person]string{ada: ada.run("call whoami"), bob: bob.run("call whoami")}
	for p, want := range map[person]string{ada: "the user ada.", bob: "the user bob."} {
		got := p.settled(runs[p])
		check.That(t, got.Status == run.StatusFinished && strings.Contains(got.Answer, want), "got %s %q, want %q of the server", got.Status, got.Answer, want)
		var list struct{ Runs []struct{ Run string } }
		p.do("GET", "/runs", "", &list)
		check.That(t, len(list.Runs) == 1 && list.Runs[0].Run == runs[p], "got runs %v, want the user's own, %s", list.Runs, runs[p])
	}
	asking := ada.run("Book a table for 4 at Luigi")
	q := ada.settled(asking).Asks[0]
	for _, test := range []struct{ method, path, body string }{
		{"GET", "", ""}, {"GET", "/events", ""}, {"DELETE", "", ""},
		{"POST", "/answers", fmt.Sprintf(`[{"ask":%q,"action":"allow"}]`, q.ID)},
	} {
		var refused struct{ Error string }
		code, _ := bob.do(test.method, "/runs/"+asking+test.path, test.body, &refused)
		check.That(t, code == http.StatusNotFound && refused.Error != "", "%v: got %d %q, want 404 with a reason", test, code, refused.Error)
	}
	if got := ada.state(asking); got.Status != run.StatusWaiting || len(got.Asks) != 1 {
		t.Errorf("got %s with %d questions, want a run that waits as before", got.Status, len(got.Asks))
	}
	for _, token := range []string{"", "demo", "demo-ada2"} {
		code, head := (person{t, url, token}).do("GET", "/runs", "", nil)
		check.That(t, code == http.StatusUnauthorized && head.Get("WWW-Authenticate") == "Bearer", "token %q: got %d, want 401", token, code)
	}
}

func TestQuestions(t *testing.T) {
	p := person{t, start(t, settings(t), nil), "demo-ada"}
	id := p.run("Book a table for 4 at Luigi")
	send := func(want int, format string, args ...any) {
		t.Helper()
		body := fmt.Sprintf(format, args...)
		check.Equal(t, "answer "+body, p.code("POST", "/runs/"+id+"/answers", body), want)
	}
	approval := p.settled(id).Asks[0]
	check.Require(t, approval.Kind == run.QuestionApproval && approval.Server == "demo", "got %+v, want an approval", approval)
	send(409, `[{"ask":"forged","action":"allow"}]`)
	send(422, `[{"ask":%q,"action":"accept"}]`, approval.ID)
	send(400, `[{"ask":%q,"action":"allow","by":"bob"}]`, approval.ID)
	send(400, `[]`)
	send(204, `[{"ask":%q,"action":"allow"}]`, approval.ID)
	send(204, `[{"ask":%q,"action":"allow"}]`, approval.ID)
	send(409, `[{"ask":%q,"action":"deny"}]`, approval.ID)
	p.follow(id, "", func(e event) bool { return e.Type == "asked" && strings.Contains(e.data, `"form"`) })
	form := p.state(id).Asks[0]
	send(422, `[{"ask":%q,"action":"accept","content":{"date":"x"}}]`, form.ID)
	send(204, `[{"ask":%q,"action":"accept","content":{"date":"2030-01-02","time":"19:30","people":4}}]`, form.ID)
	events := p.follow(id, "", is("answer"))
	by := 0
	for _, e := range events {
		if e.Type == "answered" && strings.Contains(e.data, `"by":"ada"`) {
			by++
		}
	}
	got := p.state(id)
	check.That(t, got.Status == run.StatusFinished && strings.Contains(got.Answer, "2030-01-02") && by == 2, "got %s %q with %d answers by ada, want a booking with 2", got.Status, got.Answer, by)
	send(409, `[{"ask":%q,"action":"decline"}]`, form.ID)
}

func TestStreamResumes(t *testing.T) {
	p := person{t, start(t, settings(t, "-streams", "100", "-rate", "60000"), nil), "demo-ada"}
	id := p.run("Count to 3")
	all := p.follow(id, "", is("answer"))
	for i, e := range all {
		if e.id == "" {
			continue
		}
		got, want := "", ids(all[i+1:])
		if want != "" {
			got = ids(p.follow(id, e.id, is("answer")))
		}
		check.Equal(t, e.id, got, want)
	}
	for _, last := range []string{"x", "1.2.3", "999"} {
		check.Equal(t, "after "+last, p.code("GET", "/runs/"+id+"/events?after="+last, ""), http.StatusBadRequest)
	}
}

func TestStop(t *testing.T) {
	p := person{t, start(t, settings(t, "-rate", "60000"), nil), "demo-ada"}
	id := p.run("Count to 1000")
	p.follow(id, "", is("tool_start"))
	var over sync.WaitGroup
	over.Go(func() {
		p := person{aside{t}, p.url, p.token}
		p.follow(id, "", func(e event) bool { return e.Type == "refresh" && p.state(id).Status == run.StatusCancelled })
	})
	check.Equal(t, "a stop", p.code("DELETE", "/runs/"+id, ""), http.StatusAccepted)
	over.Wait()
	for range 2 {
		check.Equal(t, "", p.state(id).Status, run.StatusCancelled)
		check.Equal(t, "a run that is over", p.code("DELETE", "/runs/"+id, ""), http.StatusAccepted)
	}
	waiting := p.run("Book a table for 4 at Luigi")
	p.settled(waiting)
	p.do("DELETE", "/runs/"+waiting, "", nil)
	eventually(t, "a run that waited is cancelled", func() bool { v := p.state(waiting); return v.Status == run.StatusCancelled && len(v.Asks) == 0 })
}

func TestLimits(t *testing.T) {
	var s *service
	url := start(t, settings(t, "-running", "2", "-open", "1", "-streams", "1", "-rate", "6000"), func(made *service) { s = made })
	p := person{t, url, "demo-ada"}
	for body, want := range map[string]int{
		`{"input":"` + strings.Repeat("x", maxInput) + `"}`: 413, `{"input":"x"}` + strings.Repeat(" ", maxInput): 413,
		`{"input":"hi","state":{}}`: 400, `{"input":""}`: 400, `{"input":"hi"} {}`: 400, `x`: 400,
	} {
		check.Equal(t, body[:min(len(body), 40)], p.code("POST", "/runs", body), want)
	}
	first, second := p.run("Count to 1000"), p.run("Count to 1000")
	check.Equal(t, "a third run at once", p.code("POST", "/runs", `{"input":"hi"}`), 429)
	check.That(t, (person{t, url, "demo-bob"}).run("hi") != "", "another user has to wait")
	p.follow(first, "", func(event) bool {
		check.Equal(t, "a second stream", p.code("GET", "/runs/"+second+"/events", ""), 429)
		return true
	})
	p.do("DELETE", "/runs/"+first, "", nil)
	p.do("DELETE", "/runs/"+second, "", nil)
	asking := p.run("Book a table for 4 at Luigi")
	eventually(t, "no stream is open", func() bool {
		s.limits.mu.Lock()
		defer s.limits.mu.Unlock()
		ada := s.limits.tenants["ada"] // nil without a request
		return ada == nil || ada.streams == 0
	})
	p.settled(asking)
	check.Equal(t, "a run beside one that waits", p.code("POST", "/runs", `{"input":"hi"}`), 429)
}

func TestRate(t *testing.T) {
	url := start(t, settings(t, "-rate", "6"), nil)
	p := person{t, url, "demo-ada"}
	check.Equal(t, "", p.code("GET", "/runs", ""), http.StatusOK)
	code, head := p.do("GET", "/runs", "", nil)
	if wait, err := strconv.Atoi(head.Get("Retry-After")); code != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 10 {
		t.Errorf("got %d after %q s, want 429 after at most 10", code, head.Get("Retry-After"))
	}
	check.Equal(t, "another user", person{t, url, "demo-bob"}.code("GET", "/runs", ""), http.StatusOK)
}

func TestUsersAreForgotten(t *testing.T) {
	l := newLimits(&options{rate: 60})
	for i := range 100 {
		_, leave := l.beginRequest(fmt.Sprint(i))
		leave()
	}
	check.Equal(t, "users in memory", len(l.tenants), 0)
}
