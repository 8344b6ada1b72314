-- Gives the mutex's owner a whole lease again. Repeating it is harmless.
--
-- KEYS[1]  the lock, hash {owner, token}
-- ARGV[1]  owner
-- ARGV[2]  lease, milliseconds
--
-- Returns  1  the lock is this owner's for a lease from now
--          0  it is not this owner's; nothing was changed

if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then
  return 0
end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
