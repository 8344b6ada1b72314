-- Gives the mutex back and wakes those who wait for it. For an owner who was told his token, and whose requests reach
-- Redis once: nothing has to be remembered of him. mutex_leave.lua is for all others.
--
-- KEYS[1]  the lock     string (mutex_token.lua)
-- KEYS[2]  the counter  string (mutex_token.lua); only if this was asked before, and may have been done
-- ARGV[1]  "owner token"
-- ARGV[2]  "-token"
-- ARGV[3]  how long the release is remembered, milliseconds; "0" for as long as the lease had to go
-- ARGV[4]  channel on which waiters listen
-- ARGV[5]  what to publish in any case; if it is empty, "freed" is, and only if the lock is marked
--
-- Returns  1  released, now or by an earlier call of the same owner; published only now
--          0  the lock was not this owner's (any more); nothing was changed, nothing was published

local state = redis.call('GET', KEYS[1])
local plain = state == ARGV[1]
if plain or state == ARGV[1] .. ' w' then
  if ARGV[3] == '0' then
    redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
  else
    redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  end
  if ARGV[5] ~= '' then
    redis.call('PUBLISH', ARGV[4], ARGV[5])
  elseif not plain then
    redis.call('PUBLISH', ARGV[4], 'freed')
  end
  return 1
end
if not KEYS[2] then
  return 0
end
