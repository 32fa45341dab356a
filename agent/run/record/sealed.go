package record

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Sealed returns a store that encrypts runs and keeps them in another store: each record, each blob,
// and each reply until it is recorded. A record that was modified, removed, or moved to another
// place, run or tenant is detected: the error matches [ErrCorrupt]. If the keys lack the secret
// of a record, the error matches [ErrUnknownKey].
//
// The other store still sees the [run.Head] of a run (its key, agent, status, times and the ids
// of its questions), the number, time and size of each record, the name and size of each blob, and
// which question each reply belongs to. It can return an older state of a whole run undetected.
func Sealed(store Store, keys *Keys) Store {
	return &sealedStore{store, keys}
}

type sealedStore struct {
	Store // with ciphertext
	keys  *Keys
}

func (s *sealedStore) Create(ctx context.Context, h Holder, head run.Head, records []run.Record) (Lease, error) {
	if err := checkCreate(head, records); err != nil { // below, any sealed record may be the first one of a run
		return Lease{}, err
	}
	sealed, err := s.sealAll(head.Key, records)
	if err != nil {
		return Lease{}, fmt.Errorf("create run %q: %w", head.Key.ID, err)
	}
	head.Questions = nil // they would reveal what the records say
	return s.Store.Create(ctx, h, head, sealed)
}

func (s *sealedStore) Append(ctx context.Context, lease Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	sealed, err := s.sealAll(lease.Key, records)
	if err != nil {
		return fmt.Errorf("append to run %q: %w", lease.Key.ID, err)
	}
	head.Questions = nil
	return s.storeSealed(ctx, lease.Key, replies, func(replies []run.Reply) error {
		return s.Store.Append(ctx, lease, head, sealed, replies...)
	})
}

func (s *sealedStore) Load(ctx context.Context, key run.Key) (*Log, error) {
	log, err := s.Store.Load(ctx, key)
	return s.open(key, log, err)
}

func (s *sealedStore) LoadCurrent(ctx context.Context, key run.Key) (*Log, error) {
	log, err := s.Store.LoadCurrent(ctx, key)
	return s.open(key, log, err)
}

// open decrypts a log, which begins with the first record or the last snapshot. err is the error of
// loading it.
func (s *sealedStore) open(key run.Key, log *Log, err error) (*Log, error) {
	switch {
	case err != nil:
		return nil, err
	case len(log.Records) == 0:
		return nil, fmt.Errorf("load run %q: there are no records: %w", key.ID, ErrCorrupt)
	}
	first, opened := log.Records[0].Seq, *log
	opened.Records, opened.Replies = make([]run.Record, len(log.Records)), nil
	if n := first + uint64(len(log.Records)) - 1; n != log.Head.Seq {
		return nil, fmt.Errorf("load run %q: last record is %d, want %d: %w", key.ID, n, log.Head.Seq, ErrCorrupt)
	}
	keys := s.keys.forRun(key)
	for i, r := range log.Records {
		if opened.Records[i], err = keys.openRecord(first+uint64(i), r); err != nil {
			return nil, fmt.Errorf("load run %q: record %d: %w", key.ID, first+uint64(i), corruptError(err))
		}
	}
	for _, reply := range log.Replies {
		if reply, err = keys.openReply(reply); err != nil {
			return nil, fmt.Errorf("load run %q: answer to %q: %w", key.ID, reply.Question, corruptError(err))
		}
		opened.Replies = append(opened.Replies, reply)
	}
	if !ledger.Begins(opened.Records[0]) {
		return nil, fmt.Errorf("load run %q: got record %d, want 1: %w", key.ID, first, ErrCorrupt)
	}
	return &opened, nil
}

// corruptError marks err as an error of a corrupt run, unless it is one or a key is missing.
func corruptError(err error) error {
	if errors.Is(err, ErrUnknownKey) || errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

func (s *sealedStore) Reply(ctx context.Context, key run.Key, replies []run.Reply) error {
	return s.storeSealed(ctx, key, replies, func(replies []run.Reply) error { return s.Store.Reply(ctx, key, replies) })
}

// storeSealed encrypts replies and stores them by store. With the same secret equal replies have equal
// ciphertexts, so the other store notices a different reply to the same question. Replies that have
// been stored with an older secret are left out.
func (s *sealedStore) storeSealed(ctx context.Context, key run.Key, replies []run.Reply, store func([]run.Reply) error) error {
	sealed, err := s.sealReplies(key, replies)
	if err == nil {
		err = store(sealed)
	}
	if !errors.Is(err, ErrReplied) || len(s.keys.secrets) == 1 {
		return err
	}
	fresh, compareErr := s.notStored(ctx, key, replies)
	if compareErr != nil {
		return fmt.Errorf("compare with answers that an older secret may have sealed: %w; give the answer again", compareErr)
	}
	if len(fresh) == len(replies) {
		return err
	}
	if sealed, err = s.sealReplies(key, fresh); err != nil {
		return err
	}
	return store(sealed)
}

// notStored returns the replies that have no equal one in the store.
func (s *sealedStore) notStored(ctx context.Context, key run.Key, replies []run.Reply) (fresh []run.Reply, err error) {
	log, err := s.LoadCurrent(ctx, key)
	if err != nil {
		return nil, err
	}
	for _, reply := range replies {
		isStored := slices.ContainsFunc(log.Replies, func(r run.Reply) bool { return equalReplies(r, reply) })
		if !slices.Contains(log.Head.QuestionIDs, reply.Question) {
			if isStored, err = s.equalsClosed(ctx, key, reply); err != nil {
				return nil, err
			}
		}
		if !isStored {
			fresh = append(fresh, reply)
		}
	}
	return fresh, nil
}

// equalsClosed reports whether a reply equals the one to its question, which is closed. A log has no such
// replies, so it asks the store for each secret; the store adds nothing.
func (s *sealedStore) equalsClosed(ctx context.Context, key run.Key, reply run.Reply) (bool, error) {
	for secret := range s.keys.secrets {
		sealed, err := s.keys.forRun(key).sealReply(secret, reply)
		if err == nil {
			err = s.Store.Reply(ctx, key, []run.Reply{sealed})
		}
		if !errors.Is(err, ErrReplied) && !errors.Is(err, run.ErrNotAsked) {
			return err == nil, err
		}
	}
	return false, nil
}

func (s *sealedStore) sealReplies(key run.Key, replies []run.Reply) ([]run.Reply, error) {
	keys := s.keys.forRun(key)
	sealed := make([]run.Reply, len(replies))
	for i, reply := range replies {
		var err error
		if sealed[i], err = keys.sealReply(s.keys.current, reply); err != nil {
			return nil, err
		}
	}
	return sealed, nil
}

// sealReply encrypts a reply with a secret. Only its question and time stay readable.
func (k *runKeys) sealReply(secret string, reply run.Reply) (run.Reply, error) {
	undated := reply
	undated.At = time.Time{} // equal replies are equal at any time
	data, err := undated.MarshalJSON()
	if err == nil {
		data, err = json.Marshal(&ledger.Sealed{Box: k.seal(secret, "answer", reply.Question, data, "")})
	}
	if err != nil {
		return run.Reply{}, fmt.Errorf("answer question %q of run %q: %w", reply.Question, k.run.ID, err)
	}
	return run.Reply{Question: reply.Question, Action: actionSealed, Content: data, At: reply.At}, nil
}

// actionSealed is the action of an encrypted reply.
const actionSealed run.Action = "sealed"

var errUnsealed = errors.New("not sealed")

func (k *runKeys) openReply(reply run.Reply) (run.Reply, error) {
	var in ledger.Sealed
	if reply.Action != actionSealed || json.Unmarshal(reply.Content, &in) != nil {
		return reply, errUnsealed
	}
	data, err := k.unseal("answer", reply.Question, in.Box)
	if err != nil {
		return reply, err
	}
	opened := run.Reply{}
	if err := opened.UnmarshalJSON(data); err != nil {
		return reply, err
	}
	opened.At = reply.At
	return opened, nil
}

// sealAll encrypts records. Only their numbers and times stay readable.
func (s *sealedStore) sealAll(key run.Key, records []run.Record) ([]run.Record, error) {
	sealed := make([]run.Record, len(records))
	keys := s.keys.forRun(key)
	for i, r := range records {
		data, err := r.MarshalJSON()
		if err != nil {
			return nil, err
		}
		box := keys.seal(s.keys.current, "record", strconv.FormatUint(r.Seq, 10), data, rand.Text())
		if sealed[i], err = (ledger.Entry{Seq: r.Seq, At: r.At, Change: &ledger.Sealed{Box: box}}).Encode(); err != nil {
			return nil, err
		}
	}
	return sealed, nil
}

// openRecord decrypts the record that stands where number seq belongs.
func (k *runKeys) openRecord(seq uint64, r run.Record) (run.Record, error) {
	e, err := ledger.Decode(r)
	if err != nil {
		return run.Record{}, err
	}
	c, ok := e.Change.(*ledger.Sealed)
	if !ok {
		return run.Record{}, errUnsealed
	}
	data, err := k.unseal("record", strconv.FormatUint(seq, 10), c.Box)
	if err != nil {
		return run.Record{}, err
	}
	var opened run.Record
	if err := opened.UnmarshalJSON(data); err != nil {
		return run.Record{}, err
	}
	if opened.Seq != r.Seq {
		return run.Record{}, fmt.Errorf("record %d is sealed in record %d", opened.Seq, r.Seq)
	}
	return opened, nil
}

func (s *sealedStore) PutBlob(ctx context.Context, lease Lease, name string, data []byte) error {
	if len(data) > ledger.MaxBlob {
		return CheckBlob(lease.Key, name, max(int64(len(data)), ledger.MaxBlob+sealRoom+1), 0, 0)
	}
	box := s.keys.forRun(lease.Key).seal(s.keys.current, "blob", name, data, rand.Text())
	return s.Store.PutBlob(ctx, lease, name, box)
}

func (s *sealedStore) Blob(ctx context.Context, key run.Key, name string) ([]byte, error) {
	box, err := s.Store.Blob(ctx, key, name)
	if err != nil {
		return nil, err
	}
	data, err := s.keys.forRun(key).unseal("blob", name, box)
	if err != nil {
		return nil, fmt.Errorf("load blob %.100q of run %q: %w", name, key.ID, corruptError(err))
	}
	return data, nil
}
