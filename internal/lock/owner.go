package lock

import "github.com/google/uuid"

// Owner is who holds a lock: a random UUID, never a goroutine, a process or a host. A mutex makes one for every call.
// Those who are to enter a reentrant lock again pass the same one along. The zero Owner is nobody.
type Owner string

// NewOwner returns an owner that nobody else has.
func NewOwner() Owner { return Owner(uuid.NewString()) }
