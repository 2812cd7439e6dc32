package framework

import (
	"errors"
	"sync"
)

// atATime is the maximum number of concurrent calls of Each.
const atATime = 20

// Each calls do concurrently for 0 to n-1, and joins the errors.
func Each(n int, do func(i int) error) error {
	errs := make([]error, n)
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(n, atATime) {
		workers.Go(func() {
			for i := range next {
				errs[i] = do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}
