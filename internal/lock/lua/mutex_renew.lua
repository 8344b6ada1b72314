-- Gives the mutex's owner a whole lease again, or only looks whether the lock is theirs. Repeating it is harmless.
--
-- KEYS[1]  the lock, string (mutex_acquire.lua)
-- ARGV[1]  lease, milliseconds; 0 to look only
-- ARGV[2]  owner
--
-- Returns  1  the lock is this owner's, for a lease from now if one was given
--          0  it is not this owner's; nothing was changed

local state = redis.call('GET', KEYS[1])
if not state or string.sub(state, 1, #ARGV[2]) ~= ARGV[2] then
  return 0
end
if ARGV[1] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[1])
end
return 1
