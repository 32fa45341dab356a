package filestore_test

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/storetest"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// sample creates the file of a run with every kind of line.
func sample(t testing.TB) (s record.Store, files *disk, path string, data []byte) {
	t.Helper()
	files = newDisk()
	s = files.on(t, t.TempDir())
	d, _ := create(t, s, key, question("a"), question("b"))
	check.Must(t, s.Reply(ctx, key, []run.Reply{{Question: "b", Action: run.ActionAccept}}))
	lease := check.Value(s.Acquire(ctx, key, record.Holder{Name: "second"}))(t)
	add(t, s, lease, d, note("one"), note("two"))
	add(t, s, lease, d, note("three"))
	path, n := files.file(t)
	return s, files, path, n.now
}

func flipped(data []byte, at int, bits byte) []byte {
	data = slices.Clone(data)
	data[at] ^= bits
	return data
}

// TestDamage changes and removes every byte of a file. Each change is reported with the file and the line.
func TestDamage(t *testing.T) {
	s, disk, path, data := sample(t)
	for i := range data {
		line := fmt.Sprintf("%s: line %d:", path, 1+bytes.Count(data[:i], []byte{'\n'}))
		for n, damaged := range [][]byte{flipped(data, i, 1), flipped(data, i, 0x20), slices.Delete(slices.Clone(data), i, i+1)} {
			disk.put(path, damaged)
			_, err := s.Load(ctx, key)
			if n == 2 && i == len(data)-1 { // the line break of the last line
				check.NoError(t, err, "without the last byte")
			} else if !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), line) {
				t.Errorf("byte %d of %d, damage %d: got %v, want %q", i, len(data), n, err, line)
			}
		}
	}
}

// TestDamagedLines removes, repeats and swaps lines.
func TestDamagedLines(t *testing.T) {
	s, disk, path, data := sample(t)
	lines := bytes.SplitAfter(data, []byte{'\n'})
	lines = lines[:len(lines)-1]
	check.Require(t, len(lines) == 5, "got %d lines, want 5", len(lines))
	for i := range lines {
		removed := slices.Delete(slices.Clone(lines), i, i+1)
		for _, changed := range [][][]byte{removed, slices.Insert(slices.Clone(lines), i, lines[i])} {
			if i == len(lines)-1 && len(changed) < len(lines) {
				continue // as after a crash
			}
			disk.put(path, bytes.Join(changed, nil))
			check.Is(t, check.Err(s.Load(ctx, key)), record.ErrCorrupt, "line", i+1, len(changed), "lines")
		}
	}
	disk.put(path, nil)
	check.Is(t, check.Err(s.Load(ctx, key)), record.ErrCorrupt, "an empty file")
}

// TestTornTail cuts the last line of a file at every byte. The line is ignored, and the next one replaces it.
func TestTornTail(t *testing.T) {
	s, disk, path, data := sample(t)
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	disk.put(path, data[:last])
	before := check.Value(s.Load(ctx, key))(t)
	for cut := last; cut < len(data); cut++ {
		disk.put(path, data[:cut])
		want := len(before.Records)
		if cut == len(data)-1 {
			want++ // only the line break is missing
		}
		for _, h := range []int{0, 1} { // the second time after an Append
			log, err := s.Load(ctx, key)
			check.Require(t, err == nil && len(log.Records) == want+h && log.Head.ReplyCount == 1 && len(log.Replies) == 1,
				"cut at %d: got %+v, %v, want %d records and an answer", cut, log, err, want+h)
			if h == 0 {
				add(t, s, record.Lease{Key: key, Epoch: log.Head.Epoch}, drafted(t, s), note("again"))
			}
		}
	}
}

// TestHole treats a line with a sector that was never written as left by a crash, if it may not have been synced.
func TestHole(t *testing.T) {
	disk := newDisk()
	s := disk.on(t, t.TempDir())
	d, first := create(t, s, key)
	lease := check.Value(s.Acquire(ctx, key, record.Holder{Name: strings.Repeat("x", 2000)}))(t)
	check.Must(t, s.Release(ctx, lease))
	path, n := disk.file(t)
	data := n.now
	hole := slices.Clone(data)
	clear(hole[1024:1536])

	disk.put(path, hole)
	check.Equal(t, "holder before the hole", check.Value(s.Load(ctx, key))(t).Head.Epoch, first.Epoch)
	add(t, s, first, drafted(t, s), note("again"))
	check.Equal(t, "records", fold(t, s).Seq, 2)

	disk.put(path, data) // a sync and another line follow
	add(t, s, lease, d, note("synced"))
	add(t, s, lease, d, note("after"))
	_, n = disk.file(t)
	data = n.now
	clear(data[1024:1536])
	disk.put(path, data)
	_, err := s.Load(ctx, key)
	check.Is(t, err, record.ErrCorrupt)
	check.Text(t, err, "line 2:")
}

// FuzzLoad reads any file, and any lines with correct ends. A run that can be read can be continued.
func FuzzLoad(f *testing.F) {
	_, _, path, data := sample(f)
	dir := f.TempDir()
	path = filepath.Join(dir, filepath.Base(path))
	f.Add(data, false)
	f.Add(data[:len(data)-9], false)
	f.Add(append(slices.Clone(data), make([]byte, 600)...), false)
	f.Add(regexp.MustCompile(`,"end":.*`).ReplaceAll(data, nil), true)
	f.Fuzz(func(t *testing.T, data []byte, ends bool) {
		if ends {
			data = withEnds(data)
		}
		disk := newDisk()
		disk.put(path, data)
		s := openOn(t, disk, dir, &filestore.Options{NoSync: true})
		log, err := s.Load(ctx, key)
		if err != nil {
			return
		}
		lease, err := s.Acquire(ctx, key, record.Holder{})
		if errors.Is(err, record.ErrHeld) {
			return
		}
		check.Must(t, err)
		head := log.Head
		head.Seq++
		next := check.Value(ledger.Entry{Seq: head.Seq, Change: note("next")}.Encode())(t)
		check.Must(t, s.Append(ctx, lease, head, []run.Record{next}))
		again, err := s.Load(ctx, key)
		check.Require(t, err == nil && len(again.Records) == len(log.Records)+1,
			"got %+v, %v, want one record more than %d", again, err, len(log.Records))
	})
}

func withEnds(data []byte) []byte {
	var out []byte
	for text := range bytes.Lines(data) {
		at := len(out)
		text = bytes.TrimSuffix(text, []byte{'\n'})
		head := len(text) - bytes.LastIndex(text, []byte(`"head":`)) - len(`"head":`)
		line := fmt.Appendf(slices.Clone(text), `,"end":"%012x %08x %012x s`, at, max(0, head), at)
		line = fmt.Appendf(line, " %08x\"}\n", crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli)))
		out = append(out, line...)
	}
	return out
}

// TestEnds checks that withEnds writes what the store writes.
func TestEnds(t *testing.T) {
	s, disk, path, data := sample(t)
	disk.put(path, withEnds(regexp.MustCompile(`,"end":.*`).ReplaceAll(data, nil)))
	check.Equal(t, "records", fold(t, s).Seq, 6)
	disk.put(path, withEnds([]byte(`{"v":2,"records":true,"head":{}`+"\n")))
	_, err := s.Load(ctx, key)
	check.That(t, err != nil && !errors.Is(err, record.ErrCorrupt) && strings.Contains(err.Error(), "version 2"), "got %v, want the version", err)
}

// TestDamagedFile damages one of ten files: a bit of its last line, the whole file, or a foreign line.
func TestDamagedFile(t *testing.T) {
	for name, damage := range map[string]func([]byte) []byte{
		"a bit":          func(data []byte) []byte { data[len(data)-20] ^= 1; return data },
		"a strange line": func(data []byte) []byte { return append(data, "{}\n"...) },
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Damage(t, func(t *testing.T) (record.Store, func(run.Key)) {
				dir := t.TempDir()
				write(t, filepath.Join(dir, "notes.jsonl"), nil) // which is ignored
				return open(t, dir, nil), func(key run.Key) {
					path := filepath.Join(dir, filestore.NameOf(key))
					write(t, path, damage(read(t, path)))
				}
			})
		})
	}
}
