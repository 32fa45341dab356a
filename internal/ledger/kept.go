package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
)

// DigestOf returns the digest of a result that is stored beside the records.
func DigestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CheckKept verifies what a store returned for a stored result.
func CheckKept(k *run.Kept, data []byte) error {
	if got := DigestOf(data); got != k.Digest {
		return fmt.Errorf("the result %q has the digest %s and should have %s", k.Handle, got, k.Digest)
	}
	return nil
}
