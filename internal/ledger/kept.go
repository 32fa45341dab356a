package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
)

// DigestOf is the digest of what is kept beside the records.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckKept compares what a store returned with what was kept.
func CheckKept(k *run.Kept, data []byte) error {
	if got := DigestOf(data); got != k.Digest {
		return fmt.Errorf("the result %q has the digest %s and should have %s", k.Handle, got, k.Digest)
	}
	return nil
}
