package stages

import (
	"context"
	"fmt"
)

// memoryQueue is a channel. It is lost with the process, and so are its orders.
type memoryQueue struct{ waiting chan purchase }

func newMemoryQueue() memoryQueue { return memoryQueue{make(chan purchase, 1<<20)} }

func (memoryQueue) kind() string      { return "memory" }
func (q memoryQueue) push(p purchase) { q.waiting <- p }

// consume logs at its end how many orders it leaves behind, as only this process knows.
func (q memoryQueue) consume(ctx context.Context, record func(context.Context, purchase) error) error {
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case p := <-q.waiting:
			if err := record(context.WithoutCancel(ctx), p); err != nil {
				return err
			}
		}
	}
	fmt.Printf("left behind: %d\n", len(q.waiting))
	return nil
}
