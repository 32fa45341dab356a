//go:build unix

package service

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// worked is the processor time of this process, in seconds.
func worked() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

// BenchmarkLoad has 1,000 users, and 100 runs at the same time:
//
//	go test -run '^$' -bench Load -benchtime 1x .
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		l := &load{t: b, users: 1000, at: 100, rounds: 5, options: settings(b, "-rate", "60000")}
		began, before := time.Now(), worked()
		l.play()
		runs := float64(len(l.took))
		b.ReportMetric((worked()-before)/runs*1000, "cpu-ms/run")
		b.ReportMetric(float64(l.stored())/runs/1024, "KiB/run")
		slices.Sort(l.took)
		b.ReportMetric(runs, "runs")
		b.ReportMetric(float64(l.most.Load()), "at-once")
		b.ReportMetric(runs/time.Since(began).Seconds(), "runs/s")
		b.ReportMetric(l.took[len(l.took)/2].Seconds()*1000, "p50-ms")
		b.ReportMetric(l.took[len(l.took)*99/100].Seconds()*1000, "p99-ms")
		b.ReportMetric(float64(l.before)/(1<<20), "idle-MiB")
		b.ReportMetric(float64(l.peak)/(1<<20), "peak-MiB")
		b.ReportMetric(float64(l.lost.Load()), "lost")
		b.ReportMetric(float64(l.crossing.Load()), "crossed")
	}
}

// BenchmarkStreams has 1,000 streams of runs that wait for a person, as a front beside workers has them:
//
//	go test -run '^$' -bench Streams -benchtime 1x .
func BenchmarkStreams(b *testing.B) {
	const streams, runs, length = 1000, 20, 10 * time.Second
	o := settings(b, "-streams", fmt.Sprint(streams), "-rate", "6000000", "-open", fmt.Sprint(runs))
	o.store = postgres(b)
	p := person{b, start(b, o, nil), "demo-ada"}
	var ids []string
	for range runs {
		ids = append(ids, p.run("Book a table for 4 at Luigi"))
		p.settled(ids[len(ids)-1])
	}
	for b.Loop() {
		before := heap()
		ctx, stop := context.WithCancel(b.Context())
		var open, all sync.WaitGroup
		open.Add(streams)
		for n := range streams {
			all.Go(func() { person{aside{b}, p.url, p.token}.stay(ctx, ids[n%runs], open.Done) })
		}
		open.Wait()
		b.ReportMetric(float64(heap()-before)/streams/1024, "KiB/stream")
		began, used := time.Now(), worked()
		time.Sleep(length)
		b.ReportMetric((worked()-used)/time.Since(began).Seconds()*1000/streams, "cpu-ms/stream-s")
		stop()
		all.Wait()
	}
}

// stay reads the events of a run until the context ends. opened is called at the first one.
func (p person) stay(ctx context.Context, id string, opened func()) {
	resp := p.request(ctx, "GET", "/runs/"+id+"/events", "")
	defer resp.Body.Close()
	opened()
	_, _ = io.Copy(io.Discard, resp.Body)
}
