package filestore

import (
	"context"

	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Prune implements [record.Store]. It writes a file that begins with the last snapshot, and
// replaces the old one.
func (s *directory) Prune(ctx context.Context, lease record.Lease) error {
	err := s.changeAs(ctx, lease, func(f file, _ tip) error {
		name := nameOf(lease.Key)
		c, err := s.read(f, name)
		if err != nil || c.records[0].Seq >= c.tip.head.Snapshot {
			return err
		}
		return s.rewrite(name, c)
	})
	return wrap("prune", lease.Key, err)
}

// rewrite replaces a file by one line: the records from the last snapshot on, and all replies, also
// those to closed questions. If it fails, the old file stays.
func (s *directory) rewrite(name string, c *content) error {
	l := &line{Records: c.records[c.tip.head.Snapshot-c.records[0].Seq:], Head: c.tip.head}
	l.Head.Current = 0
	for _, r := range c.replies {
		l.Replies = append(l.Replies, r)
	}
	data, err := encode(l, trailer{sync: true})
	if err != nil {
		return err
	}
	return s.replace(s.path(name), func(f file) error { return writeAt(f, data, 0, s.sync) })
}
