-- Gives the mutex from its owner to the one who waits next in the same process: a release and an acquire in one step,
-- with no message. After token.lua and mutex_free.lua. The latches are those of mutex_acquire.lua and mutex_release.lua.
--
-- KEYS[1]  the lock        string (mutex_acquire.lua)
-- KEYS[2]  the latch of the owner
-- KEYS[3]  the high water  string (token.lua)
-- KEYS[4]  the latch of the next one
-- ARGV[1]  owner
-- ARGV[2]  how long the release is remembered, milliseconds
-- ARGV[3]  channel on which waiters listen
-- ARGV[4]  the owner's token
-- ARGV[5]  "first": the owner asks for the first time, and asked once to acquire; "again": this too may have been done;
--          "latched": any request of the owner may come again (mutex_release.lua)
-- ARGV[6]  the next one
-- ARGV[7]  their lease, milliseconds
-- ARGV[8]  the highest token that the client has seen
-- ARGV[9]  label of the process and the next one's lease, a space before each
--
-- Returns  {1, token}  the next one has it for a lease from now; also when this is repeated
--          {2, 0}      released, now or by an earlier call, and the next one does not have it: they had given up
--                      (published, if it was now), or have had it
--          {0, 0}      the lock was not this owner's (any more); nothing but the latch was changed

local found = redis.call('MGET', KEYS[1], KEYS[4], KEYS[3])
local state, size = found[1], #ARGV[1]
local holder = state and string.sub(state, 1, size)
if holder == ARGV[1] then
  local last, since = string.match(state, '^ (%d+) (%d+)', size + 1)
  local mark = string.sub(state, -2) == ' w' and ' w' or ''
  redis.call('PEXPIRE', KEYS[1], ARGV[7]) -- lets the next writes through when Redis is full
  if ARGV[5] == 'latched' then
    redis.call('SET', KEYS[2], '1', 'PX', ARGV[2])
  end
  if found[2] then
    free(KEYS[1], '-' .. last .. ' ' .. since, ARGV[2])
    redis.call('PUBLISH', ARGV[3], 'freed')
    return {2, 0}
  end
  local token = next_token(KEYS[3], found[3], last, ARGV[8])
  redis.call('SET', KEYS[1], ARGV[6] .. ' ' .. token .. ' ' .. since .. ARGV[9] .. mark, 'PX', ARGV[7])
  return {1, tonumber(token)}
end
local before = false
if ARGV[5] == 'again' then
  before = released(state, ARGV[4])
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
  redis.call('DEL', KEYS[2]) -- lets the next write through when Redis is full
  redis.call('SET', KEYS[2], '0', 'PX', ARGV[2])
end
return {0, 0}
