-- Takes the lock for an owner who may have it already. After token.lua and holds.lua.
--
-- A hold is one call of TryLock or Lock, its request. A repetition with the same request is a client that did not hear
-- the answer; it counts once. A request that was released or given up is refused for a while (mutex_acquire.lua).
--
-- KEYS[1]  the lock     hash (holds.lua), always with a time to live
-- KEYS[2]  the counter  string, the last token handed out (token.lua)
-- KEYS[3]  the latch    string, this request's release; exists for a while after it
-- ARGV[1]  owner
-- ARGV[2]  lease of this hold, milliseconds
-- ARGV[3]  the highest token that the client has seen
-- ARGV[4]  request
--
-- Returns  token       text: the owner holds it once more, this time for a lease from now; entering again he has the
-- token
--                      of his first hold
--          {0, ms}     another owner has it, for so long if he does not renew; nothing was changed
--          {-1, 0}     this request was released or given up already; nothing was changed

if redis.call('EXISTS', KEYS[3]) == 1 then
  return {-1, 0}
end
local held = redis.call('HMGET', KEYS[1], 'owner', 'token')
local token = held[2]
if not held[1] then
  token = next_token(KEYS[2], redis.call('GET', KEYS[2]), ARGV[3])
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'token', token)
elseif held[1] ~= ARGV[1] then
  return {0, redis.call('PTTL', KEYS[1])}
end
local now = clock()
redis.call('HSET', KEYS[1], ARGV[4], string.format('%.0f', now + ARGV[2]))
settle(KEYS[1], now)
return token
