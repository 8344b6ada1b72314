// Package load is the lab's load client: many users who buy, each with their own token, over connections of
// [seckill/internal/httpload]. It uses little processor time, because it shares the machine with the server that is
// measured.
//
//	Users    tokens, signed before anything is measured
//	Burst    purchases of many users, or readers of one page, as fast as they are answered or at a rate
//	Dial     one of very many connections
package load
