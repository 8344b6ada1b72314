-- Gives the mutex from its owner to the one who waits next in the same process: a release and an acquire in one step,
-- with no message. After token.lua. The latches are those of mutex_acquire.lua and mutex_release.lua.
--
-- KEYS[1]  the lock     string "owner token"
-- KEYS[2]  the counter  string, the last token handed out (token.lua)
-- KEYS[3]  the latch of the owner
-- KEYS[4]  the latch of the next one
-- ARGV[1]  owner
-- ARGV[2]  the next one
-- ARGV[3]  his lease, milliseconds
-- ARGV[4]  the highest token that the client has seen
-- ARGV[5]  how long the latch is kept, milliseconds
-- ARGV[6]  channel on which waiters listen
--
-- Returns  {1, token}  the next one has it for a lease from now; also when this is repeated
--          {2, 0}      released, now or by an earlier call, and the next one does not have it: he had given up
--                      (published, if it was now), or has had it
--          {0, 0}      the lock was not this owner's (any more); nothing but the latch was changed

local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local holder = found[1] and string.sub(found[1], 1, #ARGV[1])
if holder == ARGV[1] then
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[5])
  if found[4] then
    redis.call('DEL', KEYS[1])
    redis.call('PUBLISH', ARGV[6], ARGV[1])
    return {2, 0}
  end
  local token = next_token(KEYS[2], found[2], ARGV[4])
  redis.call('SET', KEYS[1], ARGV[2] .. ' ' .. token, 'PX', ARGV[3])
  return {1, tonumber(token)}
end
if found[3] == '1' then
  if holder == ARGV[2] then
    return {1, tonumber(string.sub(found[1], #ARGV[1] + 2))}
  end
  return {2, 0}
end
redis.call('SET', KEYS[3], '0', 'PX', ARGV[5])
return {0, 0}
