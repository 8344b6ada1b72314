-- Takes a lock for an owner who may hold it already. Follows token.lua, holds.lua, and the preludes that decide whose
-- turn it is (turn): reentrant.lua, or those of another kind.
--
-- A hold is one call of TryLock or Lock, identified by its request. The client repeats a request when it did not get
-- the answer; a repetition does not count as another hold. A request that was released or given up is refused for a
-- while (mutex_acquire.lua).
--
-- KEYS[1]  the holds       holds.lua, always with a time to live
-- KEYS[2]  the high water  string (token.lua)
-- KEYS[3]  the latch       string, this request's release; exists for a while after it
-- KEYS[4]… the queue       queue.lua, of kinds that have one
-- ARGV[1]  owner
-- ARGV[2]  lease of this hold, milliseconds
-- ARGV[3]  the highest token that the client has seen
-- ARGV[4]  the hold, "request label owner"
-- ARGV[5]… the place       queue.lua, of kinds that have a queue
--
-- Returns  token       text: the owner holds the lock once more, for a lease from now; an owner who enters again
--                      keeps the token of its first hold
--          {0, ms, x}  the owner must wait, and ask again after ms at the latest; no hold was changed. With a queue, x
--                      is 1 if the process lost its places there; without one, x is the owner who has the lock
--          {-1, 0}     this request was released or given up already; nothing was changed
--          {-2, 0}     the owner would wait for itself (write.lua); no hold was changed

if redis.call('EXISTS', KEYS[3]) == 1 then
  return {-1, 0}
end
local now = clock()
local refusal = turn(now)
if refusal then
  return refusal
end
local token = token_of(KEYS[1]) or KEYS[7] and token_of(KEYS[7]) or
  next_token(KEYS[2], redis.call('GET', KEYS[2]), nil, ARGV[3])
take(KEYS[1], token, ARGV[4], now + ARGV[2])
remove_expired(KEYS[1], now)
return token
