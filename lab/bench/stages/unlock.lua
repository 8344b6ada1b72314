-- Removes a lock if it is still its owner's.
--   KEYS  lock (string)
--   ARGV  owner
--   1 removed, 0 it is another owner's
if redis.call('GET', KEYS[1]) == ARGV[1] then
  return redis.call('DEL', KEYS[1])
end
return 0
