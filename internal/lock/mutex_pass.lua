-- Gives the mutex from its owner to the one who waits next in the same process: a release and an acquire in one step,
-- with no message. After mutex_token.lua. The latches are those of mutex_acquire.lua and mutex_leave.lua.
--
-- KEYS[1]  the lock     string (mutex_token.lua)
-- KEYS[2]  the latch of the owner
-- KEYS[3]  the counter  string (mutex_token.lua)
-- KEYS[4]  the latch of the next one
-- ARGV[1]  owner
-- ARGV[2]  how long the release is remembered, milliseconds
-- ARGV[3]  channel on which waiters listen
-- ARGV[4]  his token
-- ARGV[5]  "first": he asks for the first time, and asked once to acquire; "again": this too may have been done;
--          "latched": any request of his may come again (mutex_leave.lua)
-- ARGV[6]  the next one
-- ARGV[7]  his lease, milliseconds
-- ARGV[8]  the highest token that the client has seen
--
-- Returns  {1, token}  the next one has it for a lease from now; also when this is repeated
--          {2, 0}      released, now or by an earlier call, and the next one does not have it: he had given up
--                      (published, if it was now), or has had it
--          {0, 0}      the lock was not this owner's (any more); nothing but the latch was changed

local found = redis.call('MGET', KEYS[1], KEYS[4])
local state, size = found[1], #ARGV[1]
local holder = state and string.sub(state, 1, size)
if holder == ARGV[1] then
  local last = string.match(state, '^ (%d+)', size + 1)
  if ARGV[5] == 'latched' then
    redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  end
  if found[2] then
    redis.call('SET', KEYS[1], '-' .. last, 'PX', ARGV[2])
    redis.call('PUBLISH', ARGV[3], ARGV[1])
    return {2, 0}
  end
  local token = next_token(last, KEYS[3], ARGV[8])
  local mark = string.sub(state, -2) == ' w' and ' w' or ''
  redis.call('SET', KEYS[1], ARGV[6] .. ' ' .. token .. mark, 'PX', ARGV[7])
  return {1, tonumber(token)}
end
local before = false
if ARGV[5] == 'again' then
  before = released(state, redis.call('GET', KEYS[3]), ARGV[4])
elseif ARGV[5] == 'latched' then
  before = redis.call('GET', KEYS[2]) == '1'
end
if before then
  if holder == ARGV[6] then
    return {1, tonumber(string.match(state, '^ (%d+)', size + 1))}
  end
  return {2, 0}
end
if ARGV[5] == 'latched' then
  redis.call('SET', KEYS[2], '0', 'PX', ARGV[2])
end
return {0, 0}
